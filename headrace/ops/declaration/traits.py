"""What passes, placement and codegen may know about an op.  The value of a trait is the sentence that
holds for every op that has it; tests/ops/declaration/test_traits.py checks it on the ops' samples."""

from __future__ import annotations

from enum import Enum


class Trait(Enum):
    # -- of values -----------------------------------------------------------------------------
    COMMUTATIVE = "op(x, y) equals op(y, x)"
    ELEMENTWISE = "an output element depends on the input elements at its (broadcast) index"
    AGGREGATE = "the sum of its inputs, in whatever groups they are added"
    IDENTITY = "the output is the (only) input"
    ALIAS = "the elements of the first input, in the same order: TF passes its buffer on"
    OF_SHAPE = "depends on the shapes of its inputs alone"
    CONSTANT = "the output is the attribute `value`"
    KEEPS_ZERO = "the output is 0 wherever an input is 0 and all others are finite"
    PADS = "a convolution of its first input, or the gradient of its filter; takes `explicit_paddings`"
    STATIC = "`tf.get_static_value` computes it where its inputs are known"
    DIFFERENT_EACH_TIME = "may give other values at every run: only type and shape are certain"
    # -- of state ------------------------------------------------------------------------------
    STATEFUL = "has effects or hidden state: never folded, merged or dropped as a duplicate"
    VARIABLE = "the output leads to the state of a variable: a reference or a handle"
    TEMPORARY = "makes a resource that ends with its step: an array or a stack"
    READS = "only reads the state it touches"
    WRITES = "changes the state its first input points to"
    ADDS_ROWS = "adds rows to those of its first input at `indices`, or subtracts them; nothing else changes"
    SETS_ROWS = "computes the rows of variables at `indices` anew, from `grad` and what they were"
    ALLOWS_UNINITIALIZED = "may be given a reference to a variable without a value"
    # -- of running ----------------------------------------------------------------------------
    SOURCE = "the value comes from a feed"
    REPLACEABLE = "a feed may take the value's place: nothing is known while building"
    HOST = "runs in Python as it stands; not a candidate for compilation"
    BLOCKING = "may wait: runs beside the others, on a thread of its own"
    COLLECTIVE = (
        "takes part, with ops on other devices or tasks, in one operation: `group_key`, `instance_key`"
    )
    DEFERRED = "may answer later, with a Future: another op of the step may have to run first"
    MOVES = "hands values on as they are: nothing is calculated"
    # -- of the world outside ------------------------------------------------------------------
    FILES = "reads or writes files"
    PYTHON = "calls a function of the Python program in whose process it runs"
    # -- of control flow -----------------------------------------------------------------------
    CONTROL_FLOW = "the executor gives it meaning, not a kernel"
    SWITCH = "the first input comes out of one of two outputs; the other output is dead"
    MERGE = "the input that is alive comes out"
    ENTER = "the input comes out in the first iteration of a new frame"
    NEXT_ITERATION = "the input comes out in the next iteration of the frame"
    EXIT = "the input comes out of the frame"

    __hash__ = object.__hash__  # there is one of each, and sets of them are asked all the time


COMMUTATIVE, ELEMENTWISE, AGGREGATE = Trait.COMMUTATIVE, Trait.ELEMENTWISE, Trait.AGGREGATE
IDENTITY, ALIAS, OF_SHAPE = Trait.IDENTITY, Trait.ALIAS, Trait.OF_SHAPE
CONSTANT, STATIC, PADS, KEEPS_ZERO = Trait.CONSTANT, Trait.STATIC, Trait.PADS, Trait.KEEPS_ZERO
DIFFERENT_EACH_TIME = Trait.DIFFERENT_EACH_TIME
STATEFUL, VARIABLE, READS, WRITES = Trait.STATEFUL, Trait.VARIABLE, Trait.READS, Trait.WRITES
ADDS_ROWS, SETS_ROWS = Trait.ADDS_ROWS, Trait.SETS_ROWS
ALLOWS_UNINITIALIZED, TEMPORARY = Trait.ALLOWS_UNINITIALIZED, Trait.TEMPORARY
SOURCE, REPLACEABLE, HOST = Trait.SOURCE, Trait.REPLACEABLE, Trait.HOST
BLOCKING, DEFERRED, CONTROL_FLOW = Trait.BLOCKING, Trait.DEFERRED, Trait.CONTROL_FLOW
COLLECTIVE = Trait.COLLECTIVE
FILES, PYTHON, MOVES = Trait.FILES, Trait.PYTHON, Trait.MOVES
SWITCH, MERGE, EXIT = Trait.SWITCH, Trait.MERGE, Trait.EXIT
ENTER, NEXT_ITERATION = Trait.ENTER, Trait.NEXT_ITERATION
