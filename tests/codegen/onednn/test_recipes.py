"""oneDNN's objects as rows, and from rows again."""

from __future__ import annotations

import json

import pytest

from headrace.codegen.onednn import onednn
from headrace.codegen.onednn import onednn_api as dnn
from headrace.codegen.onednn.recipes import Reader, Unreadable, Writer

pytestmark = [pytest.mark.native, pytest.mark.skipif(not onednn.is_available(), reason="no oneDNN")]


def product():
    """Rows of a product with a sum and a comparison behind it, in the library's own layout."""
    a, c = dnn.strided([4, 8], "f32", [8, 1]), dnn.strided([4, 16], "f32", [16, 1])
    b = dnn.any_layout([8, 16], "f32")
    attributes = dnn.attributes([("add", c), ("relu",)])
    made = dnn.described("matmul", dnn.engine(), a, b, None, c, attributes)
    return made.primitive(), made.layout("weights"), made.layout("weights")


def rows_of(*objects):
    writer = Writer()
    numbers = [writer.number(made) for made in objects]
    return json.loads(json.dumps(writer.rows)), numbers


def test_made_again():
    rows, (primitive, weights, same) = rows_of(*product())
    assert weights == same
    assert [row[0] for row in rows] == [
        "engine",
        "strided",
        "tagged",
        "strided",
        "attributes",
        "described",
        "primitive",
        "part",
    ]
    made = Reader(rows).made
    assert isinstance(made[primitive], dnn.Handle)
    assert made[weights].nbytes == product()[1].nbytes
    assert rows_of(made[primitive], made[weights])[0] == rows


@pytest.mark.parametrize(
    "row",
    [
        ["rubbish"],
        [],
        "dims",
        ["dims", [1, 2, "3"]],
        ["dims", list(range(13))],
        ["strided", [4, 8], "f32", [8]],
        ["strided", [4, 8], "f128", [8, 1]],
        ["tagged", [4, 8], "f32", 1 << 40],
        ["tagged", [4, 8], "f32"],
        ["attributes", [["sum"]]],
        ["attributes", [["add", 17]]],
        ["attributes"],
        ["described"],
        ["described", 1, "matmul"],
        ["described", 1, "matmul", {"row": 0}, 12345678, None, None, None, None],
        ["described", 1, "version", {"row": 0}],
        ["described", 0, "reorder", {"row": 1}, {"row": 0}, {"row": 1}, {"row": 0}, {"row": 4}],
        ["part", {"row": 5}, "rubbish", 0],
        ["part", {"row": 1}, "weights", 0],
        ["primitive", {"row": 4}],
        ["primitive", {"row": 99}],
        ["primitive", {"row": None}],
        ["primitive", {}],
    ],
    ids=repr,
)
def test_other_rows_are_refused(row):
    rows, _ = rows_of(*product())
    with pytest.raises(Unreadable):
        Reader([*rows, row])


def test_what_the_library_refuses():
    rows, _ = rows_of(*product())
    rows[1][1] = [4, 9]  # the product's inner sizes differ
    with pytest.raises(dnn.LibraryError):
        Reader(rows)
