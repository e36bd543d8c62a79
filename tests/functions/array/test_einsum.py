"""einsum against np.einsum: many equations, sizes that are not known, what it refuses."""

import numpy as np
import pytest

import headrace as tf

EQUATIONS = [
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij,jk", (2, 3), (3, 4)),
    ("ijk->jik", (2, 3, 4)),
    ("ij->", (2, 3)),
    ("i,i->", (3,), (3,)),
    ("i,j->ji", (3,), (2,)),
    ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
    ("aij,ajk->iak", (2, 3, 4), (2, 4, 5)),
    ("abc,cd,def->aef", (2, 3, 4), (4, 5), (5, 2, 3)),
    ("a,ab,abc->abc", (2,), (2, 3), (2, 3, 4)),
    ("a,a,ab->b", (2,), (2,), (2, 3)),
    ("...ij,...jk->...ik", (5, 2, 3), (5, 3, 4)),
    ("...i,i", (2, 3), (3,)),
    ("efab,dfab->ed", (2, 3, 4, 5), (6, 3, 4, 5)),
    ("ii", (3, 3)),
]


def values_of(shapes):
    rng = np.random.default_rng(0)
    return [rng.normal(size=shape) for shape in shapes]


@pytest.mark.parametrize("equation, shapes", [(e, s) for e, *s in EQUATIONS], ids=str)
@pytest.mark.parametrize("hidden", [False, True])
def test_agrees_with_numpy(equation, shapes, hidden):
    values = values_of(shapes)
    with tf.Graph().as_default(), tf.Session() as session:
        sizes = [[None] * len(s) if hidden else s for s in shapes]
        inputs = [tf.placeholder(tf.float64, s) for s in sizes]
        out = session.run(tf.einsum(equation, *inputs), dict(zip(inputs, values)))
    np.testing.assert_allclose(out, np.einsum(equation, *values), rtol=1e-12)


@pytest.mark.parametrize(
    "equation, shapes, message",
    [
        ("ij,jk", [(2, 3)], "Got 1 arguments"),
        ("i-j->k", [(2,)], "incorrect format"),
        ("ijj->k", [(2, 3, 3)], "more than once"),
        ("ij->k", [(2, 3)], "Invalid equation"),
        ("i.j->ij", [(2, 3)], "outside of ellipsis"),
        ("...i...->i", [(2, 3)], "Excess number"),
    ],
)
def test_refuses(equation, shapes, message):
    with pytest.raises(ValueError, match=message):
        tf.einsum(equation, *map(tf.constant, values_of(shapes)))
