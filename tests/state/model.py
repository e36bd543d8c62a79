"""A model of TensorFlow 1.15's memory: what a graph computes when its variables are memory that nodes share.

What TensorFlow does (its kernels and executor, and TensorFlow 2.21 asked live):

- A reference is a pointer to a variable's memory.  A node that takes a value is given that memory itself,
  not a copy, when the node starts; what it reads is what the memory holds while it runs.
- `w/read` is an Identity, and Identity gives out what it was given: the variable's memory.  So do
  Reshape, ExpandDims, Squeeze and the other nodes that have nothing to compute (`TF_FORWARDS`), branches
  and loops that pass a value through, py_func, queues, and edges between CPU devices.  Who computes with
  such an *alias* reads the variable when he computes, not when the alias was made.
- Assign, AssignAdd, Scatter*, Apply* on references write into that memory.  An alias that is fetched is
  looked at when the step has ended.
- A resource variable is read by ReadVariableOp, and the value that was read never changes.

What Headrace does (`HEADRACE`) is the same, but for aliases that nobody computes with:

- A value that was read before an update is never delivered as the value after it: a fetched alias is what
  the memory held when the alias's node ran; the results of branches, loops and py_func, and what is put
  into a queue, are values.  A fetched *reference* (`sess.run(w)`) is what the variable holds when the step
  has ended, as in TensorFlow.
- Where the order of a read and a write, or of two writes, is open, it is fixed: of the writers that may
  run, the one that was made first; everything else as soon as what it waits for has run; an alias is read
  as soon as the first of its chain was made and the writers have run that its user is ordered after.

A pair of such accesses that no path of data and control edges orders is `open`: TensorFlow's result then
depends on its threads.  In a graph without open pairs every order gives what the model gives.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.state.flow import DEAD, Flow, Instance
from tests.state.kernels import KERNELS, OF_SHAPE
from tests.state.memory import EFFECTS, Place, Shared
from tests.state.nodes import RESULTS_OF_CALL, Edge, Node, edge

IDENTITIES = {"Identity", "StopGradient", "PreventGradient", "RefIdentity", RESULTS_OF_CALL}
VIEWS = {"Reshape", "ExpandDims", "Squeeze"}
FLOW = {"Switch", "RefSwitch", "Enter", "RefEnter", "LoopCond"}
ROUNDED = {"Sum", "Mean", "Prod", "MatMul", "UnsortedSegmentSum", "AddN", "Mul"}  # in an order of their own
RESULTS = {"Merge", "Exit", "NextIteration", "IdentityN"}


@dataclass(frozen=True)
class Rules:
    """Which nodes give out the memory that they were given, and whether queues, Python and fetches
    keep an alias or the value that it has at that moment."""

    forwards: frozenset[str]
    keeps_alias: bool


HEADRACE = Rules(frozenset(IDENTITIES | VIEWS | FLOW), keeps_alias=False)
TENSORFLOW = Rules(
    frozenset(IDENTITIES | VIEWS | FLOW | RESULTS)
    | {"CheckNumerics", "EnsureShape", "PlaceholderWithDefault", "Pack", "Cast", "Transpose", "Tile",
       "StridedSlice", "AddN", "Sum", "BroadcastTo", "Pad"},
    keeps_alias=True,
)  # fmt: skip


class Model:
    """A session's variables and queues, and the steps that use them."""

    def __init__(
        self, nodes: dict[str, Node], rules: Rules = HEADRACE, rounding: np.random.Generator | None = None
    ) -> None:
        """`rounding`: what is added up is a little off, as if it were added in another order."""
        self.nodes, self.rules, self.rounding = nodes, rules, rounding
        self.places: dict[str, Place] = {}

    def run(self, fetches: Sequence[str], feeds: Mapping[str, Any] | None = None) -> Step:
        """One step.  A fetch is the name of a tensor (`a:0`) or of a node."""
        step = Step(self, {edge(k): np.asarray(v) for k, v in (feeds or {}).items()})
        step.run(fetches)
        return step


@dataclass(frozen=True)
class Open:
    """Two accesses whose order nothing says."""

    place: str
    first: str
    second: str
    in_flow: bool  # there are branches or loops in the step


class Step(Flow):
    """One run of a session: `values` are what it gives, `open` what TensorFlow's threads decide."""

    def __init__(self, model: Model, feeds: dict[Edge, Any]) -> None:
        super().__init__(model.nodes, feeds)
        self.model, self.rules = model, model.rules
        self.values: list[Any] = []
        self.open: list[Open] = []
        self.produced: dict[Edge, Any] = dict(feeds)
        self.accesses: dict[Place, list[tuple[Instance, bool]]] = defaultdict(list)
        self.clock = 0  # writes so far
        self.writers: dict[Place, list[tuple[Instance, int]]] = defaultdict(list)
        self.versions: dict[Place, list[tuple[int, Any]]] = {}

    def run(self, fetches: Sequence[str]) -> None:
        self.go(fetches)
        self.values = [self.result(edge(f)) if ":" in f else None for f in fetches]

    def fetch(self, now: Instance, wanted: Edge, value: Any) -> None:
        """A reference is looked at when the step has ended, an alias now (or so, by the rules)."""
        self.now = now
        is_alias = isinstance(value, Shared) and not value.is_ref
        self.produced[wanted] = self.kept(value) if is_alias else value

    def result(self, wanted: Edge) -> Any:
        found = self.produced[wanted]
        return found.value() if isinstance(found, Shared) else found

    # -- values --------------------------------------------------------------------------------
    def compute(self, now: Instance, inputs: list[Any]) -> list[Any]:
        self.now, node = now, now.node
        if node.op in ("Switch", "RefSwitch"):
            taken = bool(self.take(inputs[1]))
            return [DEAD, inputs[0]] if taken else [inputs[0], DEAD]
        if node.op == "Merge":
            place, value = next((i, v) for i, v in enumerate(inputs) if not _is_absent(v))
            return [self.forward(node, value), np.array(place, np.int32)]
        if node.op in ("IdentityN", RESULTS_OF_CALL):
            return [self.forward(node, x) for x in inputs]
        if node.op in EFFECTS:
            outputs = EFFECTS[node.op](self, node, inputs)
        elif self.is_forwarded(node, inputs):
            outputs = self.view(node, inputs)
        else:
            arrays = [self.take(x, node.op in OF_SHAPE) for x in inputs]
            outputs = KERNELS[node.op](node, *self.rounded(node, arrays))
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        return [x if isinstance(x, (Shared, Place)) else np.asarray(x) for x in outputs]

    def rounded(self, node: Node, arrays: list[Any]) -> list[Any]:
        rng = self.model.rounding
        if rng is None or node.op not in ROUNDED:
            return arrays
        return [
            x * (1 + np.finfo(x.dtype).eps * rng.uniform(-1, 1, x.shape)).astype(x.dtype)
            if x.dtype.kind == "f"
            else x
            for x in arrays
        ]

    def is_forwarded(self, node: Node, inputs: list[Any]) -> bool:
        """Does the result lie in the memory of the first input?"""
        if not inputs or not isinstance(inputs[0], (Shared, Place)):
            return False
        if isinstance(inputs[0], Place):
            return True
        return node.op in self.rules.forwards and self.changes_nothing(node, inputs)

    def changes_nothing(self, node: Node, inputs: list[Any]) -> bool:
        """Has the kernel nothing to compute?  Some have for some inputs."""
        if node.op in IDENTITIES | VIEWS | FLOW | RESULTS:
            return True
        before = inputs[0].value()
        rest = [self.take(x) for x in inputs[1:]]
        after = np.asarray(KERNELS[node.op](node, before, *rest))
        is_same = after.size == before.size and after.dtype == before.dtype
        if node.op == "Sum":
            return np.size(rest[0]) == 0
        if node.op in ("Pack", "AddN"):
            return is_same and not rest
        return is_same and (node.op != "Transpose" or list(rest[0]) == sorted(rest[0]))

    def view(self, node: Node, inputs: list[Any]) -> Any:
        first = inputs[0]
        if isinstance(first, Place):
            return first
        rest = [self.take(x) for x in inputs[1:]]
        kernel, old = KERNELS[node.op], first.view
        is_ref = first.is_ref and node.op.startswith("Ref")
        time = self.clock if first.is_ref else first.time  # an alias of an alias is as old as that
        return Shared(first.place, lambda array: kernel(node, old(array), *rest), is_ref, time)

    def forward(self, node: Node, value: Any) -> Any:
        if isinstance(value, Shared) and node.op not in self.rules.forwards:
            return self.take(value)
        if isinstance(value, Shared):
            return Shared(value.place, value.view, time=self.clock if value.is_ref else value.time)
        return value

    # -- who touches what, when ------------------------------------------------------------------
    def place(self, name: str) -> Place:
        return self.model.places.setdefault(name, Place(name))

    def take(self, tensor: Any, is_shape: bool = False) -> Any:
        """The value that the running node is given."""
        if not isinstance(tensor, Shared):
            return tensor
        if not is_shape:
            self.reads(tensor.place)
        if tensor.is_ref or self.rules.keeps_alias:
            return tensor.value()
        return np.array(tensor.view(self.held_at(tensor.place, self.read_at(tensor))))

    def read_at(self, alias: Shared) -> int:
        """When Headrace reads it for the running node: as soon as the alias was made and the writers
        have run which that node is ordered after."""
        mask = self.now.mask
        before = [t for w, t in self.writers[alias.place] if mask >> w.bit & 1]
        return max([alias.time, *before])

    def held_at(self, place: Place, time: int) -> Any:
        versions = self.versions.get(place, [(0, place.value)])
        return next(value for t, value in reversed(versions) if t <= time)

    def kept(self, tensor: Any) -> Any:
        """What somebody gets who looks at it later."""
        if self.rules.keeps_alias and isinstance(tensor, Shared):
            return Shared(tensor.place, tensor.view, time=self.clock)
        return self.take(tensor)

    def reads(self, place: Place) -> None:
        self.touch(place, False)

    def writes(self, place: Place, value: Any) -> None:
        """The running node gives the place a new value."""
        self.touch(place, True)
        self.clock += 1
        self.writers[place].append((self.now, self.clock))
        self.versions.setdefault(place, [(0, place.value)]).append((self.clock, value))
        place.value = value

    def touch(self, place: Place, is_write: bool) -> None:
        now = self.now
        for before, wrote in self.accesses[place]:
            if (wrote or is_write) and not now.mask >> before.bit & 1:
                in_flow = any(n.op in FLOW for n in self.nodes.values())
                pair = Open(place.name, before.node.name, now.node.name, in_flow)
                self.open.append(pair)
        self.accesses[place].append((now, is_write))

    def hazard(self, place: Place) -> None:
        """A writer after which TensorFlow's memory is anybody's guess."""
        if self.rules.keeps_alias:
            self.open.append(Open(place.name, self.now.node.name, self.now.node.name, False))


def _is_absent(value: Any) -> bool:
    return value is None or value is DEAD
