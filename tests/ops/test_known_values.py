"""Calls whose results are TensorFlow's, written down: edges where kernels have habits of their own."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf
from headrace.ops.declaration import catalog

pytestmark = pytest.mark.native

NAN, F = np.nan, np.float32


def f(*values, shape=None):
    array = np.array(values, F)
    return array if shape is None else array.reshape(shape)


# op, inputs, attributes, the outputs that are looked at
CALLS = [
    ("Igamma", [F(2), F(1)], {}, [F(0.26424113)]),
    ("Igammac", [F(2), F(1)], {}, [F(0.7357589)]),
    ("Betainc", [F(2), F(1), F(0.5)], {}, [F(0.25)]),
    ("Igamma", [f(NAN, -1, 0), f(0, 0, 0)], {}, [f(0, 0, 0)]),
    (
        "QuantizeAndDequantizeV2", [f(-7, 0, 3), F(-1.5), F(-0.5)],
        {"signed_input": False, "num_bits": 4, "range_given": True}, [f(0, 0, 0)],
    ),
    ("RandomGammaGrad", [f(0.5, 2), f(0, 0)], {}, [f(0, 0)]),
    (
        "ResizeArea", [f(*range(8), shape=(1, 1, 4, 2)), np.array([3, 2], np.int32)],
        {"align_corners": True}, [f(*[2, 3, 6, 7] * 3, shape=(1, 3, 2, 2))],
    ),
    ("AdjustHue", [f(0.1, 0.2, NAN, shape=(1, 1, 3)), F(0.1)], {}, [f(0.2, 0.1, NAN, shape=(1, 1, 3))]),
    (
        "AdjustSaturation", [f(0.1, 0.2, NAN, shape=(1, 1, 3)), F(0.5)], {},
        [f(0.15, 0.15, 0.15, shape=(1, 1, 3))],
    ),
    (
        "FusedBatchNorm", [np.zeros((0, 3, 3, 2), F), f(1, 1), f(1, 1), f(), f()], {},
        [np.zeros((0, 3, 3, 2), F), f(NAN, NAN), f(NAN, NAN)],
    ),
    ("SqrtGrad", [f(0, 0.5), f(0, 2)], {}, [f(0, 2)]),
    ("ReciprocalGrad", [f(np.inf, 0.5), f(0, 2)], {}, [f(0, -0.5)]),
]  # fmt: skip


@pytest.mark.parametrize("mode", ["0", "always"])
@pytest.mark.parametrize("name, inputs, attrs, wanted", CALLS, ids=lambda x: x if isinstance(x, str) else "")
def test_as_in_tensorflow(name, inputs, attrs, wanted, mode, monkeypatch):
    monkeypatch.setenv("HEADRACE_COMPILE", mode)
    with tf.Graph().as_default(), tf.Session() as sess:
        fed = {tf.placeholder(x.dtype, np.shape(x)): x for x in inputs}
        made = catalog.find(name)(*fed, **attrs)
        outputs = (made if isinstance(made, tuple) else (made,))[: len(wanted)]
        for _ in range(2):
            for found, want in zip(sess.run(outputs, fed), wanted):
                assert np.shape(found) == np.shape(want)
                np.testing.assert_allclose(found, want, rtol=1e-5)


@pytest.mark.parametrize("mode", ["0", "always"])
@pytest.mark.parametrize("name", ["TanhGrad", "SigmoidGrad", "ReciprocalGrad", "ReluGrad", "SoftsignGrad"])
def test_gradients_do_not_broadcast(name, mode, monkeypatch):
    """Whatever is known of the shapes, unequal ones are refused."""
    monkeypatch.setenv("HEADRACE_COMPILE", mode)
    for shape in (None, [None, None]):
        with tf.Graph().as_default(), tf.Session() as sess:
            x, y = (tf.placeholder(tf.float32, shape) for _ in range(2))
            z = catalog.find(name)(x, y)
            with pytest.raises(tf.errors.InvalidArgumentError):
                sess.run(z, {x: np.ones((2, 1)), y: np.ones((2, 3))})
            assert sess.run(z, {x: np.ones((2, 3)), y: np.ones((2, 3))}).shape == (2, 3)


def test_a_merged_summary_holds_values_alone():
    """Fields that nobody knows are dropped, as TensorFlow's kernel drops them."""
    with tf.Session() as session:
        assert session.run(tf.raw_ops.MergeSummary(inputs=[b" x |"])) == b""
