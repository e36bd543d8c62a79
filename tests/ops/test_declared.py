"""Generated from the declarations: OpDef, shapes, types, gradients, round trips, refusals."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import headrace as tf
from headrace.core.shapes import make_shape
from headrace.ops.declare import GRADIENTS
from headrace.ops.digest import digest
from headrace.ops.traits import COMMUTATIVE, DIFFERENT_EACH_TIME
from tests.ops.declared import Built, ErrorSample, needs_samples, ops, samples

DIGESTS = dict(
    line.split() for line in (Path(__file__).parent / "op_digests.txt").read_text().splitlines()
)
SAMPLES = list(samples())
ERRORS = list(samples(ErrorSample))
each_sample = pytest.mark.parametrize(
    "op, sample", [s[1:] for s in SAMPLES], ids=[s[0] for s in SAMPLES]
)


@pytest.mark.parametrize("op", ops(), ids=lambda op: op.name)
def test_op_def_is_tensorflows(op):
    if op.name.startswith("_"):
        pytest.skip("an op of the runtime, not in TensorFlow's list")
    assert op.name in DIGESTS, f"TensorFlow 1.15 has no op {op.name}"
    assert digest(op.op_def) == DIGESTS[op.name], op.op_def


@pytest.mark.parametrize("op", [o for o in ops() if needs_samples(o)], ids=lambda op: op.name)
def test_has_samples_and_documentation(op):
    assert op.sample_rule is not None, "an op without samples is an op without tests"
    assert op.__doc__


@each_sample
def test_shape_and_type(op, sample):
    built = Built(op, sample)
    values = built.run(built.outputs)
    for tensor, value in zip(built.outputs, values):
        assert tensor.shape.is_compatible_with(make_shape(np.shape(value))), (
            f"inferred {tensor.shape}, is {np.shape(value)}"
        )
        if tensor.dtype.kind not in "srv":
            assert np.asarray(value).dtype == tensor.dtype.numpy


@each_sample
def test_shape_rule_with_hidden_sizes(op, sample):
    full = Built(op, sample)
    values = full.run(full.outputs)
    for position, value in enumerate(sample.inputs):
        rank = 0 if isinstance(value, (list, tuple)) else np.ndim(value)
        for axis in range(-1, rank):
            hidden = Built(op, sample, hide=(position, axis))
            for tensor, result in zip(hidden.outputs, values):
                assert tensor.shape.is_compatible_with(make_shape(np.shape(result))), (
                    f"input {position}, axis {axis} hidden: inferred {tensor.shape}, "
                    f"is {np.shape(result)}"
                )


@each_sample
def test_node_survives_a_graph_def(op, sample):
    built = Built(op, sample)
    graph_def = built.graph.as_graph_def()
    if op.deprecated:  # only graphs that are older than its removal may hold it
        graph_def.versions.producer = op.deprecated[0] - 1
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
    again = graph.get_operation_by_name(built.node.name)
    assert again.node_def == built.node.node_def
    assert [t.shape.as_proto() for t in again.outputs] == [
        t.shape.as_proto() for t in built.outputs
    ]


@each_sample
def test_commutes(op, sample):
    if COMMUTATIVE not in op.traits or len(sample.inputs) != 2 or DIFFERENT_EACH_TIME in op.traits:
        pytest.skip("not declared commutative")
    built = Built(op, sample)
    swapped = Built(op, type(sample)(*reversed(sample.inputs), **sample.attrs))
    np.testing.assert_allclose(
        built.run(built.outputs[0]), swapped.run(swapped.outputs[0]), rtol=1e-12
    )


def differentiable(built):
    return [
        t
        for t in built.feeds
        if t.dtype.is_floating and t.dtype.size == 8 and t.shape.num_elements()
    ]


@each_sample
def test_gradient_by_finite_differences(op, sample):
    if GRADIENTS.get(op.name) is None or not sample.grad:
        pytest.skip("no gradient to check")
    built = Built(op, sample)
    xs = differentiable(built)
    ys = [t for t in built.outputs if t.dtype.is_floating]
    if not xs or not ys:
        pytest.skip("no float64 input or output")
    rng = np.random.default_rng(0)
    with built.graph.as_default(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        weights = [rng.normal(size=np.shape(v)) for v in built.run(ys)]
        dys = [tf.constant(w, dtype=y.dtype) for w, y in zip(weights, ys)]
        grads = tf.gradients(ys, xs, grad_ys=dys)
        wanted = [(x, tf.convert_to_tensor(g)) for x, g in zip(xs, grads) if g is not None]
    if not wanted:
        pytest.skip("the gradient ends here")
    found = built.run([g for _, g in wanted])
    directions = [rng.normal(size=g.shape) for g in found]
    analytic = sum(float(np.sum(g * v)) for g, v in zip(found, directions))

    def loss(step):
        feeds = dict(built.feeds)
        for (x, _), v in zip(wanted, directions):
            feeds[x] = built.feeds[x] + step * v
        values = built.run(ys, feeds)
        return sum(float(np.sum(v * w)) for v, w in zip(values, weights))

    h = 1e-5
    numeric = (loss(h) - loss(-h)) / (2 * h)
    scale = max(1.0, abs(analytic), abs(numeric))
    assert abs(analytic - numeric) <= (sample.tolerance or 1e-5) * scale, (
        f"gradient {analytic}, finite differences {numeric}"
    )


@pytest.mark.parametrize("op, sample", [s[1:] for s in ERRORS], ids=[s[0] for s in ERRORS])
def test_refuses(op, sample):
    with pytest.raises((ValueError, TypeError, tf.errors.OpError), match=sample.raises):
        built = Built(op, sample)
        built.run(built.outputs or built.node)
