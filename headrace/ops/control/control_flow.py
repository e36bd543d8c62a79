"""The primitives of dynamic control flow.  They have no kernels: the executor gives them meaning.

A value may be dead: the output that Switch did not choose.  A node with a dead input is dead itself,
except Merge, which waits for a live one.  Enter, NextIteration and Exit carry values into the first
iteration of a frame, from one iteration to the next, and out again.
"""

from __future__ import annotations

import numpy as np

from headrace.core.errors import AbortedError, require
from headrace.core.shapes import SCALAR, UNKNOWN
from headrace.ops.declaration.declare import Op, op, primitive
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import with_rank
from headrace.ops.declaration.shape_rules import none, same
from headrace.ops.declaration.signature import Int, String, Type
from headrace.ops.declaration.traits import (
    ALLOWS_UNINITIALIZED,
    CONTROL_FLOW,
    ENTER,
    EXIT,
    HOST,
    MERGE,
    NEXT_ITERATION,
    READS,
    SWITCH,
    Trait,
)


def switch_shape(data, pred):
    require(pred.rank in (None, 0), f"Shape must be rank 0 but is rank {pred.rank}")
    return [data.plain(), data.plain()]


def merge_shape(inputs):
    first = inputs[0].plain()
    for x in inputs[1:]:
        if first.rank is None or x.rank != first.rank:
            return [UNKNOWN, SCALAR]
        first = first.most_specific_compatible_shape(x.plain())
    return [first, SCALAR]


def enter_shape(data, *, is_constant):
    # What enters an iteration may change its shape there, unless it is the same in all of them.
    return data.plain() if is_constant else UNKNOWN


_FRAME = {"T": Type(), "frame_name": String(), "is_constant": False, "parallel_iterations": 10}


def _flow(name: str, signature: str, role: Trait, shape, attrs, *traits) -> Op:
    known = {CONTROL_FLOW, role, *traits}
    return primitive(name, signature, shape=shape, traits=known, attrs=attrs)


_PASSES, _PASSES_REF = "data: T -> output: T", "data: Ref(T) -> output: Ref(T)"
_JOINED = {"T": Type(), "N": Int(min=1)}

switch = _flow(
    "Switch", "data: T, pred: bool -> output_false: T, output_true: T", SWITCH, switch_shape, {"T": Type()}
)
ref_switch = _flow(
    "RefSwitch",
    "data: Ref(T), pred: bool -> output_false: Ref(T), output_true: Ref(T)",
    SWITCH,
    switch_shape,
    {"T": Type()},
    ALLOWS_UNINITIALIZED,
)
merge = _flow("Merge", "inputs: N*T -> output: T, value_index: int32", MERGE, merge_shape, _JOINED)
ref_merge = _flow(
    "RefMerge", "inputs: Ref(N*T) -> output: Ref(T), value_index: int32", MERGE, merge_shape, _JOINED
)
enter = _flow("Enter", _PASSES, ENTER, enter_shape, _FRAME)
ref_enter = _flow("RefEnter", _PASSES_REF, ENTER, enter_shape, _FRAME)
exit_ = _flow("Exit", _PASSES, EXIT, same, {"T": Type()})
ref_exit = _flow("RefExit", _PASSES_REF, EXIT, same, {"T": Type()})
next_iteration = _flow("NextIteration", _PASSES, NEXT_ITERATION, same, {"T": Type()})
ref_next_iteration = _flow("RefNextIteration", _PASSES_REF, NEXT_ITERATION, same, {"T": Type()})


@op("LoopCond", "input: bool -> output: bool", shape=lambda input: with_rank(input, 0))
def loop_cond(input):
    """The condition of a loop."""
    return input


@loop_cond.samples
def _(rng):
    yield Sample(np.array(True))
    yield ErrorSample(np.array([True]), raises="must be rank 0 but is rank 1")


@op("ControlTrigger", "->", shape=none, traits={CONTROL_FLOW})
def control_trigger():
    """Nothing; runs even if its control inputs are dead."""
    return ()


def ref_select_shape(index, inputs):
    require(index.rank in (None, 0), f"Shape must be rank 0 but is rank {index.rank}")
    first = inputs[0].plain()
    same = all(x.is_full and x.sizes == first.sizes for x in inputs)
    return first if same else UNKNOWN


@op(
    "RefSelect",
    "index: int32, inputs: Ref(N*T) -> output: Ref(T)",
    T=Type(),
    N=Int(min=1),
    traits={READS},
    shape=ref_select_shape,
)
def ref_select(index, inputs):
    """The reference chosen by index."""
    require(0 <= index < len(inputs), f"index must be in the range [0, {len(inputs)}) but got {index}")
    return inputs[int(index)]


@op("Abort", "->", error_msg="", exit_without_error=False, traits={HOST}, shape=none)
def abort(*, error_msg, exit_without_error):
    """End the process, as the graph asks: without ado, or with an error."""
    if exit_without_error:
        raise SystemExit(0)
    raise AbortedError(None, None, error_msg or "Abort op was run")


@abort.samples
def _(rng):
    yield ErrorSample(error_msg="enough", raises="enough")


for _op in (loop_cond, control_trigger):
    _op.no_gradient()
