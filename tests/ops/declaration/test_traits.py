"""Every trait tells the truth about every op that has it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import headrace as tf
from headrace.core.errors import FailedPreconditionError, InvalidArgumentError
from headrace.ops.control import control_flow
from headrace.ops.control.py_func import FUNCTIONS
from headrace.ops.declaration.declare import Op
from headrace.ops.declaration.traits import Trait
from headrace.ops.state import state
from headrace.plan.prune import prune
from headrace.runtime.straight import is_straight
from tests.ops.declaration import trait_checks
from tests.ops.declared import Built, ops, samples

SAMPLES = list(samples())
CASES = [
    (f"{trait.name}-{name}", trait, op, sample)
    for trait in trait_checks.OF_SAMPLES
    for name, op, sample in SAMPLES
    if trait in op.traits
]


@pytest.mark.parametrize("trait, op, sample", [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_holds(trait, op, sample):
    trait_checks.OF_SAMPLES[trait](op, sample)


def having(*traits: Trait) -> Any:
    found = [o for o in ops() if o.traits & set(traits)]
    return pytest.mark.parametrize("op", found, ids=lambda op: op.name)


def test_every_trait_is_checked():
    here = set(globals()["BY_HAND"]) | set(trait_checks.OF_SAMPLES)
    assert here == set(Trait)
    for trait in trait_checks.OF_SAMPLES:
        assert any(trait in op.traits for _, op, _ in SAMPLES), f"no sample shows {trait}"


# -- of state ------------------------------------------------------------------------------------
def of(op: Op) -> list[Any]:
    return [s for _, o, s in SAMPLES if o is op]


# The state of the others (queues, tables, ...) is no variable.
WRITERS = [o for o in ops() if Trait.WRITES in o.traits and any(Built(o, s).variables for s in of(o)[:1])]


@pytest.mark.parametrize("op", WRITERS, ids=lambda op: op.name)
def test_writes(op):
    """Some sample of the op changes a variable that it is given."""
    failures = []
    for sample in of(op):
        try:
            return trait_checks.changes_state(op, sample)
        except AssertionError as error:
            failures.append(error)
    raise failures[0]


@having(Trait.VARIABLE)
def test_variable(op):
    """What is assigned through the output is read through it, in the next step too."""
    with tf.Graph().as_default(), tf.Session() as session:
        out = op(shape=[2], dtype=tf.float32)
        assert out.dtype.is_ref or out.dtype is tf.resource
        by_reference = out.dtype.is_ref
        write = (state.assign if by_reference else state.assign_variable)(out, [1.0, 2.0])
        read = tf.identity(out) if by_reference else state.read_variable(out, dtype=tf.float32)
        with pytest.raises(FailedPreconditionError):
            session.run(read)
        session.run(write.op if by_reference else write)
        np.testing.assert_array_equal(session.run(read), [1, 2])


@pytest.mark.parametrize(
    "op",
    [
        o
        for o in ops()
        if any(a.is_ref for a in o.signature.inputs) and Trait.CONTROL_FLOW not in o.traits and of(o)
    ],
    ids=lambda op: op.name,
)
def test_allows_uninitialized(op):
    """A kernel sees a variable without a value only if the op says that it may."""
    built = Built(op, of(op)[0])
    with tf.Session(graph=built.graph) as session:
        if Trait.ALLOWS_UNINITIALIZED in op.traits:
            session.run(built.node, built.feeds)
        else:
            with pytest.raises(FailedPreconditionError, match="uninitialized"):
                session.run(built.node, built.feeds)


# -- of running ----------------------------------------------------------------------------------
@having(Trait.SOURCE)
def test_source(op):
    with tf.Graph().as_default(), tf.Session() as session:
        attrs = {"dtype": tf.float32, "shape": [2], "T": tf.float32, "index": 0}
        out = op(**{k: v for k, v in attrs.items() if k in op.signature.attrs}, name="source")
        np.testing.assert_array_equal(session.run(out, {out: [1, 2]}), [1, 2])
        with pytest.raises(InvalidArgumentError, match="You must feed a value"):
            session.run(out)


@having(Trait.BLOCKING, Trait.DEFERRED)
def test_waits(op):
    """What answers later knows its step, to hear of its end; what blocks is never run in line."""
    assert op.wants_context or Trait.DEFERRED not in op.traits
    if Trait.BLOCKING in op.traits and op.sample_rule is not None:
        sample = next(s for _, o, s in SAMPLES if o is op)
        built = Built(op, sample)
        assert not is_straight(prune(built.graph, list(built.feeds), built.outputs, []))


@having(Trait.COLLECTIVE)
def test_takes_part(op):
    """It says in which operation, waits for the others, and is never merged with another member."""
    attrs = op.signature.attrs
    assert {"group_key", "group_size", "instance_key"} <= set(attrs)
    assert {Trait.BLOCKING, Trait.STATEFUL} <= op.traits and op.wants_context


# -- of control flow -----------------------------------------------------------------------------
ROLES = {Trait.SWITCH, Trait.MERGE, Trait.ENTER, Trait.NEXT_ITERATION, Trait.EXIT}


@having(Trait.CONTROL_FLOW)
def test_control_flow(op):
    """The executor knows one role of each; only ControlTrigger, which does nothing, has none."""
    roles = op.traits & ROLES
    assert len(roles) == (op.name != "ControlTrigger")
    assert op.reference is None or not roles


def argument(op: Op, value: float) -> Any:
    """A tensor that the op takes, and what initialises it."""
    if not op.signature.inputs[0].is_ref:
        return tf.constant(value), tf.no_op()
    variable = tf.Variable(value, use_resource=False)
    return variable._ref(), variable.initializer


@having(Trait.SWITCH)
def test_switch(op):
    with tf.Graph().as_default(), tf.Session() as session:
        data, ready = argument(op, 5.0)
        chosen = tf.placeholder(tf.bool, [])
        outputs = [tf.identity(t) for t in op(data, chosen)]
        session.run(ready)
        for side in (0, 1):
            assert session.run(outputs[side], {chosen: side == 1}) == 5
            with pytest.raises(InvalidArgumentError, match="does not have value"):
                session.run(outputs[1 - side], {chosen: side == 1})


@having(Trait.MERGE)
def test_merge(op):
    with tf.Graph().as_default(), tf.Session() as session:
        data, ready = argument(op, 5.0)
        switch = control_flow.ref_switch if data.dtype.is_ref else control_flow.switch
        chosen = tf.placeholder(tf.bool, [])
        merged, index = op(list(switch(data, chosen)))
        session.run(ready)
        for side in (0, 1):
            assert session.run([merged, index], {chosen: side == 1}) == [5, side]


@pytest.mark.parametrize("by_reference", [False, True])
def test_loops(by_reference):
    """Enter, NextIteration and Exit: a counter runs to three in its frame, and comes out."""
    word = "ref_" if by_reference else ""
    enter, exit_ = getattr(control_flow, f"{word}enter"), control_flow.exit_
    with tf.Graph().as_default(), tf.Session() as session:
        data, ready = argument(enter, 0.0)
        inside = enter(data, frame_name="loop")
        first = tf.identity(inside) if by_reference else inside
        merged, _ = control_flow.merge([first, first])
        with tf.control_dependencies([merged.op]):
            one, three = tf.constant(1.0), tf.constant(3.0)
        again = control_flow.loop_cond(tf.less(merged, three))
        end, body = control_flow.switch(merged, again)
        merged.op._update_input(1, control_flow.next_iteration(body + one))
        result = exit_(end)
        session.run(ready)
        assert session.run(result) == 3


@having(Trait.NEXT_ITERATION, Trait.EXIT)
def test_references_keep_their_kind(op):
    """The forms for references differ from the others in the types alone."""
    twin = next(o for o in ops() if o.name == op.name.removeprefix("Ref"))
    assert op.traits & ROLES == twin.traits & ROLES
    assert [a.is_ref for a in op.signature.outputs] == [a.is_ref for a in op.signature.inputs]


@having(Trait.PYTHON)
def test_python(op):
    """It calls what a token of this process stands for."""
    called = []
    token = FUNCTIONS.add(lambda *step: called.append(1) or 1.0)  # EagerPyFunc hands on the step
    with tf.Graph().as_default(), tf.Session() as session:
        session.run(op([], token=token, Tout=[tf.float64]))
    assert called == [1]


@having(Trait.TEMPORARY)
def test_temporary(op):
    """Every run makes another one: nothing is found of what the run before left."""
    with tf.Graph().as_default(), tf.Session() as session:
        made = op(3, **{"dtype" if "dtype" in op.signature.attrs else "elem_type": tf.float32})
        handle = made[0] if isinstance(made, (list, tuple)) else made
        assert handle.dtype is tf.resource
        first, second = session.run(handle), session.run(handle)
        assert first != second


def test_moves():
    """A number that calculating would make zero comes out as it went in."""
    tiny = np.array([1e-40, np.nan, -0.0], np.float32)
    assert all("Queue" in o.name or "Table" in o.name for o in ops() if Trait.MOVES in o.traits)
    for make in (tf.FIFOQueue, lambda *given, **more: tf.RandomShuffleQueue(9, 0, *given[1:], **more)):
        with tf.Graph().as_default(), tf.Session() as session:
            queue = make(9, [tf.float32], shapes=[[3]])
            session.run([queue.enqueue([tiny]), queue.enqueue_many([tiny[None]])])
            both = [session.run(queue.dequeue()), session.run(queue.dequeue_many(1))[0]]
            assert all(found.tobytes() == tiny.tobytes() for found in both)
    with tf.Graph().as_default(), tf.Session() as session:
        table = tf.contrib.lookup.MutableHashTable(tf.int64, tf.float32, default_value=0.0)
        session.run(table.insert([1, 2, 3], tiny))
        assert session.run(table.lookup([1, 2, 3])).tobytes() == tiny.tobytes()


BY_HAND = {
    Trait.MOVES,
    Trait.TEMPORARY,
    Trait.WRITES,
    Trait.VARIABLE,
    Trait.ALLOWS_UNINITIALIZED,
    Trait.SOURCE,
    Trait.BLOCKING,
    Trait.DEFERRED,
    Trait.COLLECTIVE,
    Trait.CONTROL_FLOW,
    Trait.FILES,  # test_files.py
    Trait.PYTHON,
    *ROLES,
}
