"""What passes, placement and codegen may know about an op.  Each trait is one sentence; a generated
test checks it on the op's samples."""

from __future__ import annotations

from enum import Enum, auto


class Trait(Enum):
    STATEFUL = auto()  # has effects or hidden state: never folded, merged or dropped as a duplicate
    COMMUTATIVE = auto()  # op(x, y) equals op(y, x)
    ELEMENTWISE = auto()  # an output element depends on the input elements at its (broadcast) index
    AGGREGATE = auto()  # accepts any number of inputs of one type and sums them
    ALLOWS_UNINITIALIZED = auto()  # may be given a reference to a variable without a value
    VIEW = auto()  # the output has the elements of the first input, in the same order
    IDENTITY = auto()  # the output is the (only) input
    CONSTANT = auto()  # the output is the attribute `value`
    SOURCE = auto()  # the value comes from a feed
    REPLACEABLE = auto()  # a feed may take the value's place: nothing is known while building
    READS = auto()  # only reads the state it touches
    WRITES = auto()  # changes the state its first input points to
    BLOCKING = auto()  # may wait: runs beside the others, on a thread of its own
    DEFERRED = (
        auto()
    )  # may answer later, with a Future: another op of the step may have to run first
    CONTROL_FLOW = auto()  # the executor gives it meaning, not a kernel
    HOST = auto()  # runs in Python as it stands; not a candidate for compilation
    DIFFERENT_EACH_TIME = auto()  # random: samples are checked for shape and type alone


STATEFUL, COMMUTATIVE, ELEMENTWISE = Trait.STATEFUL, Trait.COMMUTATIVE, Trait.ELEMENTWISE
AGGREGATE, ALLOWS_UNINITIALIZED = Trait.AGGREGATE, Trait.ALLOWS_UNINITIALIZED
VIEW, IDENTITY, CONSTANT, SOURCE = Trait.VIEW, Trait.IDENTITY, Trait.CONSTANT, Trait.SOURCE
REPLACEABLE = Trait.REPLACEABLE
READS, WRITES, BLOCKING = Trait.READS, Trait.WRITES, Trait.BLOCKING
DEFERRED = Trait.DEFERRED
CONTROL_FLOW, HOST = Trait.CONTROL_FLOW, Trait.HOST
DIFFERENT_EACH_TIME = Trait.DIFFERENT_EACH_TIME
