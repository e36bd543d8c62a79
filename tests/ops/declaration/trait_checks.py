"""Is the sentence of a trait true of an op?  One check per trait that samples can show; each takes an op
and one of its samples and raises AssertionError."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import headrace as tf
from headrace.ops.declaration.constants import constant
from headrace.ops.declaration.declare import Op
from headrace.ops.declaration.samples import Sample
from headrace.ops.declaration.traits import Trait
from headrace.passes.pipeline import improve
from headrace.plan.prune import prune
from tests.ops.declared import Built

Check = Callable[[Op, Sample], None]


def run(op: Op, sample: Sample) -> list[Any]:
    built = Built(op, sample)
    return list(built.run(built.outputs))


def same(found: Any, wanted: Any) -> None:
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(a, b)


def with_inputs(sample: Sample, inputs: Any) -> Sample:
    return Sample(*inputs, **sample.attrs)


# -- of values -----------------------------------------------------------------------------------
def commutes(op: Op, sample: Sample) -> None:
    """op(x, y) == op(y, x); of a list: in the other order."""
    is_list = isinstance(sample.inputs[0], (list, tuple))
    turned = [list(reversed(sample.inputs[0]))] if is_list else list(reversed(sample.inputs))
    for a, b in zip(run(op, sample), run(op, with_inputs(sample, turned)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def is_elementwise(op: Op, sample: Sample) -> None:
    """Exchange all input elements but those at one index: the output there stays."""
    first = run(op, sample)
    shape = np.shape(first[0])
    if 0 in shape or any(np.ndim(v) == len(shape) + 1 for v in first):
        return
    rng = np.random.default_rng(0)
    index = tuple(int(rng.integers(n)) for n in shape)
    moved = [_all_but(value, index, shape) for value in sample.inputs]
    second = run(op, with_inputs(sample, moved))
    same([np.asarray(v)[index] for v in second], [np.asarray(v)[index] for v in first])


def _all_but(value: Any, index: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    """The array with its elements moved on by one, but for the one that broadcasts to `index`."""
    if isinstance(value, (list, tuple)):
        return [_all_but(v, index, shape) for v in value]
    array = np.asarray(value)
    at = tuple(i if n > 1 else 0 for i, n in zip(index[len(shape) - array.ndim :], array.shape))
    moved = np.roll(array.reshape(-1), 1).reshape(array.shape)
    moved[at] = array[at]
    return moved


def sums(op: Op, sample: Sample) -> None:
    inputs = sample.inputs[0] if len(sample.inputs) == 1 else sample.inputs
    total = inputs[0]
    for x in inputs[1:]:
        total = total + x
    np.testing.assert_allclose(run(op, sample)[0], total, rtol=1e-12)


def passes_on(op: Op, sample: Sample) -> None:
    same(run(op, sample), [sample.inputs[0]])


def keeps_elements(op: Op, sample: Sample) -> None:
    same([np.ravel(v) for v in run(op, sample)], [np.ravel(sample.inputs[0])])


def depends_on_shapes(op: Op, sample: Sample) -> None:
    same(run(op, sample), run(op, with_inputs(sample, [_zeros(v) for v in sample.inputs])))


def _zeros(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_zeros(v) for v in value]
    return np.full_like(value, b"" if np.asarray(value).dtype == object else 0)


def is_its_value(op: Op, sample: Sample) -> None:
    same(run(op, sample), [sample.attrs["value"]])


def is_static(op: Op, sample: Sample) -> None:
    found = tf.get_static_value(Built(op, sample, known=0).outputs[0])
    assert found is not None, "tf.get_static_value says nothing"
    same([found], run(op, sample))


def is_replaceable(op: Op, sample: Sample) -> None:
    found = constant(Built(op, sample, known=0).outputs[0])
    assert found is None, f"its value counts as known while building: {found}"


# -- of passes -----------------------------------------------------------------------------------
def stays_apart(op: Op, sample: Sample) -> None:
    """Two equal nodes on constants are still two of their kind after all passes."""
    built = Built(op, sample, known=0)
    nodes = [built.node, _again(built.node)]
    fetches = [t for n in nodes for t in n.outputs]
    plan = improve(prune(built.graph, [], fetches, [] if fetches else nodes))
    kinds = [plan.nodes[n.name].op if n.name in plan.nodes else None for n in nodes]
    assert kinds == [op, op], f"became {kinds}"


def _again(node: Any) -> Any:
    from headrace.ops.declaration.building.build import make_node

    return make_node(
        node.graph, node.declaration, list(node.inputs), node.inputs.types, dict(node.attrs), "twin"
    )


def keeps_zero(op: Op, sample: Sample) -> None:
    """Zeros for one input at a time."""
    for place in range(len(sample.inputs)):
        inputs = [np.zeros_like(v) if i == place else v for i, v in enumerate(sample.inputs)]
        if all(np.isfinite(v).all() for v in inputs):
            same(run(op, with_inputs(sample, inputs)), [np.zeros_like(v) for v in run(op, sample)])


def pads(op: Op, sample: Sample) -> None:
    """A border of zeros may as well be padding."""
    images, attrs = np.array(sample.inputs[0]), dict(sample.attrs)
    if attrs["padding"] != "VALID":
        return
    space = (2, 3) if attrs.get("data_format") == "NCHW" else (1, 2)
    border, paddings = np.zeros(images.shape, bool), [0] * 8
    for axis in space:
        np.moveaxis(border, axis, 0)[[0, -1]] = True
        paddings[2 * axis : 2 * axis + 2] = 1, 1
    images[border] = 0
    inner = images[tuple(slice(1, -1) if axis in space else slice(None) for axis in range(4))]
    if 0 in inner.shape:
        return
    others = sample.inputs[1:]
    explicit = Sample(inner, *others, **attrs | {"padding": "EXPLICIT", "explicit_paddings": paddings})
    for a, b in zip(run(op, explicit), run(op, with_inputs(sample, [images, *others])), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


# -- of state ------------------------------------------------------------------------------------
def changes_state(op: Op, sample: Sample) -> None:
    before, after = _states(op, sample)
    assert any(not np.array_equal(a, b) for a, b in zip(before, after)), "nothing was written"


def leaves_state(op: Op, sample: Sample) -> None:
    before, after = _states(op, sample)
    same(after, before)


def adds_rows(op: Op, sample: Sample) -> None:
    """Zeros change nothing; and only the rows at `indices` change."""
    sets_rows(op, sample)
    variable, indices, updates = sample.inputs
    leaves_state(op, with_inputs(sample, [variable, indices, np.zeros_like(updates)]))


def sets_rows(op: Op, sample: Sample) -> None:
    names = [argument.name for argument in op.signature.inputs]
    indices = np.ravel(sample.inputs[names.index("indices")])
    for old, new in zip(*_states(op, sample), strict=True):
        same([np.delete(new, indices, 0)], [np.delete(old, indices, 0)])


def _states(op: Op, sample: Sample) -> tuple[list[Any], list[Any]]:
    """The variables among the inputs, before and after the op has run."""
    built = Built(op, sample)
    with tf.Session(graph=built.graph) as session:
        session.run(built.initializers)
        before = [np.array(session.run(v)) for v in built.variables]
        session.run(built.node, built.feeds)
        return before, [session.run(v) for v in built.variables]


def runs_on_host(op: Op, sample: Sample) -> None:
    assert op.lower_rule is None and not op.library_rules, "has a compiled rule that is never used"


OF_SAMPLES: dict[Trait, Check] = {
    Trait.COMMUTATIVE: commutes,
    Trait.ELEMENTWISE: is_elementwise,
    Trait.AGGREGATE: sums,
    Trait.IDENTITY: passes_on,
    Trait.ALIAS: keeps_elements,
    Trait.OF_SHAPE: depends_on_shapes,
    Trait.CONSTANT: is_its_value,
    Trait.STATIC: is_static,
    Trait.REPLACEABLE: is_replaceable,
    Trait.DIFFERENT_EACH_TIME: stays_apart,
    Trait.STATEFUL: stays_apart,
    Trait.KEEPS_ZERO: keeps_zero,
    Trait.PADS: pads,
    Trait.READS: leaves_state,
    Trait.ADDS_ROWS: adds_rows,
    Trait.SETS_ROWS: sets_rows,
    Trait.HOST: runs_on_host,
}
