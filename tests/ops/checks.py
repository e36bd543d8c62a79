"""The checks that are generated from declarations: each takes an op and one of its samples, and raises
AssertionError with both values.  tests/ops/test_checkers.py checks them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import headrace as tf
from headrace.core.dtypes import as_dtype, float32, float64, resource
from headrace.core.shapes import make_shape
from headrace.ops.declaration.declare import GRADIENTS, Op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.signature import Arg
from tests.ops.declared import Built


# -- shapes and types ----------------------------------------------------------------------------
def check_shape_and_type(op: Op, sample: Sample) -> None:
    """What the shape rule says is true of the values; so is the declared type."""
    built = Built(op, sample)
    for tensor, value in zip(built.outputs, built.run(built.outputs)):
        assert tensor.shape.is_compatible_with(make_shape(np.shape(value))), (
            f"inferred {tensor.shape}, is {np.shape(value)}"
        )
        if tensor.dtype.kind not in "srv":
            assert np.asarray(value).dtype == tensor.dtype.numpy


def check_hidden_sizes(op: Op, sample: Sample) -> None:
    """It stays true if the shape rule does not know the sizes of its inputs, one at a time."""
    full = Built(op, sample)
    values = full.run(full.outputs)
    for position, value in enumerate(sample.inputs):
        rank = 0 if isinstance(value, (list, tuple)) else np.ndim(value)
        for axis in range(-1, rank):
            hidden = Built(op, sample, hide=(position, axis))
            for tensor, result in zip(hidden.outputs, values):
                assert tensor.shape.is_compatible_with(make_shape(np.shape(result))), (
                    f"input {position}, axis {axis} hidden: inferred {tensor.shape}, is {np.shape(result)}"
                )


def check_round_trip(op: Op, sample: Sample) -> None:
    """The node is the same after a journey through a GraphDef."""
    built = Built(op, sample)
    graph_def = built.graph.as_graph_def()
    if op.deprecated:  # only graphs that are older than its removal may hold it
        graph_def.versions.producer = op.deprecated[0] - 1
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
    again = graph.get_operation_by_name(built.node.name)
    assert again.node_def == built.node.node_def
    assert [t.shape.as_proto() for t in again.outputs] == [t.shape.as_proto() for t in built.outputs]


# -- values --------------------------------------------------------------------------------------
LARGEST = float(np.finfo(np.float32).max)


def check_single_precision(op: Op, sample: Sample) -> None:
    """In float32 the op gives what it gives in float64, less precisely."""
    single = in_single_precision(op, sample)
    assert single is not None, "not an op of float64 and float32"
    narrow, wide = Built(op, single), Built(op, sample)
    pairs = zip(narrow.run(narrow.outputs), wide.run(wide.outputs))
    for tensor, (found, wanted) in zip(narrow.outputs, pairs):
        assert np.shape(found) == np.shape(wanted)
        if tensor.dtype.is_floating:
            found, wanted = (np.clip(v, -LARGEST, LARGEST) for v in (found, wanted))
        if tensor.dtype.kind in "fc":
            np.testing.assert_allclose(found, wanted, rtol=2e-3, atol=2e-4)


def in_single_precision(op: Op, sample: Sample) -> Sample | None:
    """The sample in float32; None where the op or the sample leaves nothing to change."""
    specs = [a for a in op.signature.attrs.values() if a.element == "type"]
    if not sample.dtypes or any(a.allowed and float32 not in a.allowed for a in specs):
        return None
    declared = op.signature.inputs
    # A variable behind a handle changes too: its type is that of the op's attribute.
    fixed = [a.dtype is not None and a.dtype is not resource for a in declared]
    inputs = [v if stays else _single(v) for v, stays in zip(sample.inputs, fixed)]
    if all(new is old for new, old in zip(inputs, sample.inputs)):
        return None
    attrs = {k: float32 if v is float64 else v for k, v in sample.attrs.items()}
    return Sample(*inputs, **attrs)


def _single(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_single(v) for v in value]
    narrow = {"float64": np.float32, "complex128": np.complex64}.get(np.asarray(value).dtype.name)
    if narrow is None:
        return value
    with np.errstate(over="ignore"):
        return np.asarray(value).astype(narrow)


# -- gradients -----------------------------------------------------------------------------------
STEP = 1e-5


def may_have_gradient(op: Op, sample: Sample) -> bool:
    """Whether the op has a gradient, and the sample float64 values to and from which it could flow."""
    if GRADIENTS.get(op.name) is None or not sample.grad:
        return False
    if not any(_may_be_real(arg, op, sample) for arg in op.signature.outputs):
        return False
    fed = [v for v, a in zip(sample.inputs, op.signature.inputs) if not a.is_ref and a.dtype is not resource]
    arrays = [np.asarray(x) for v in fed for x in (v if isinstance(v, (list, tuple)) else [v])]
    return any(x.dtype == np.float64 and x.size for x in arrays)


def _may_be_real(output: Arg, op: Op, sample: Sample) -> bool:
    """Whether an output is of floats, as far as its declaration and the sample tell."""
    if output.dtype is not None:
        return output.dtype.is_floating
    if output.type_attr in sample.attrs:
        return bool(as_dtype(sample.attrs[output.type_attr]).is_floating)
    same = [v for v, a in zip(sample.inputs, op.signature.inputs) if a.type_attr == output.type_attr]
    return not any(np.iscomplexobj(v) for v in same if not isinstance(v, (list, tuple)))


def check_gradient(op: Op, sample: Sample) -> None:
    """The gradient agrees with finite differences, in one random direction; it is the same where
    the gradient that comes in is a set of rows.  Where none comes back, nothing changes either."""
    built = Built(op, sample)
    xs = [t for t in built.feeds if t.dtype is float64 and t.shape.num_elements()]
    ys = [t for t in built.outputs if t.dtype.is_floating]
    assert xs and ys, "nothing to check: see may_have_gradient"
    rng = np.random.default_rng(0)
    weights = [rng.normal(size=np.shape(v)) for v in built.run(ys)]
    wanted = _gradients(built, xs, ys, weights)
    rows = _gradients(built, xs, ys, weights, as_rows=True)
    found, of_rows = built.run([[g for _, g in wanted], [g for _, g in rows]])
    for one, other in zip(found, of_rows, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
    moved = [x for x, _ in wanted] or xs
    directions = [rng.normal(size=np.shape(built.feeds[x])) for x in moved]
    analytic = sum(float(np.sum(g * v)) for g, v in zip(found, directions))

    def loss(step: float) -> float:
        feeds = dict(built.feeds)
        for x, v in zip(moved, directions):
            feeds[x] = built.feeds[x] + step * v
        values = built.run(ys, feeds)
        return sum(float(np.sum(v * w)) for v, w in zip(values, weights))

    numeric = (loss(STEP) - loss(-STEP)) / (2 * STEP)
    scale = max(1.0, abs(analytic), abs(numeric))
    assert abs(analytic - numeric) <= (sample.tolerance or 1e-5) * scale, (
        f"gradient {analytic}, finite differences {numeric}"
    )


def _gradients(
    built: Built, xs: list[Any], ys: list[Any], weights: list[Any], as_rows: bool = False
) -> list[Any]:
    """(x, the gradient of the weighted sum of ys by it), for every x that has one."""
    with built.graph.as_default(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dys = [tf.constant(w, dtype=y.dtype) for w, y in zip(weights, ys)]
        if as_rows:
            dys = [_rows(dy) if dy.shape.ndims else dy for dy in dys]
        grads = tf.gradients(ys, xs, grad_ys=dys)
        return [(x, tf.convert_to_tensor(g)) for x, g in zip(xs, grads) if g is not None]


def _rows(dy: Any) -> tf.IndexedSlices:
    """A gradient as that of a gather is."""
    order = np.arange(dy.shape[0].value)[::-1].astype(np.int32)
    return tf.IndexedSlices(tf.gather(dy, order), tf.constant(order), tf.shape(dy))


# -- refusals ------------------------------------------------------------------------------------
def check_refusal(op: Op, sample: ErrorSample) -> None:
    """The op refuses the sample, when it is built or when it runs, in the declared words; also where
    all but the first input are constants, so that a compiled rule knows axes and sizes."""
    for known in (None, 1):
        with pytest.raises((ValueError, TypeError, tf.errors.OpError), match=sample.raises):
            built = Built(op, sample, known=known)
            built.run(built.outputs or built.node)
