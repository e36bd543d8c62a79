"""What calls of oneDNN are made of: layouts of arrays, executions, reorders around them."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from headrace.codegen.ir.kernel_ir import Array
from headrace.codegen.ir.stages import Temporary
from headrace.codegen.ir.stages import memory as memory_of
from headrace.codegen.machine import threads
from headrace.codegen.onednn import onednn_api as dnn
from headrace.codegen.onednn.onednn_api import Description, Layout
from headrace.core.records import record
from headrace.core.sizes import chosen, hint
from headrace.ops.declaration.emit import LibraryCall, View

TEAM_WORK = 8_000_000  # multiplications and additions below which one thread does a call


@dataclass(slots=True, eq=False)
class Execution:
    """One primitive and what it works on."""

    description: Description
    arguments: list[tuple[str, Layout, Array]]
    written: tuple[str, ...]
    label: str = ""
    team: int = 1
    primitive: dnn.Handle | None = None

    @property
    def implementation(self) -> str:
        return self.description.implementation


def temporary(nbytes: int) -> Array:
    return Array((nbytes,), "uint8", source=Temporary(), name="temporary")


@record
class Blocked(View):
    """An array (batch, blocks of channels, space..., channels of a block), seen as images."""

    block: int = 0

    @property
    def shape(self) -> tuple[int, ...]:
        n, blocks, *space, block = self.operand.shape
        return (n, blocks * block, *space)


def plain(view: View) -> Layout:
    """The layout that the array has, dimensions in the library's order."""
    if isinstance(view, Blocked):
        return dnn.blocked(view.shape, view.operand.kind.name, view.block)
    steps = view.steps
    return dnn.strided(view.shape, view.operand.kind.name, [steps[a] for a in view.order])


def free(view: View) -> Layout:
    return dnn.any_layout(view.shape, view.operand.kind.name)


def image(call: LibraryCall, name: str) -> Layout:
    """The layout of an image in a call.  Beside one with blocks, the library chooses for the other:
    it has code for few combinations."""
    view = call.views[name]
    mixed = any(isinstance(v, Blocked) for v in call.views.values())
    return free(view) if mixed and not isinstance(view, Blocked) else plain(view)


def has_groups(call: LibraryCall) -> bool:
    """Whether the filters have a leading dimension of groups."""
    return len(call.views["weights"].shape) > len(call.views["src"].shape)


def team_of(call: LibraryCall) -> int:
    """A small call is done before a team would have started."""
    return chosen(_team, work_of(call))


def _team(work: int) -> int:
    return threads.count() if work >= TEAM_WORK else 1


def work_of(call: LibraryCall) -> int:
    """Multiplications and additions, or what takes as long."""
    src, weights = call.views["src"], call.views.get("weights")
    if call.kind == "matmul" and weights is not None:
        return 2 * prod(call.views["dst"].shape) * src.shape[-1]
    if weights is not None:
        # Every output element reads one filter.
        filters = weights.shape[: 1 + has_groups(call)]
        return 2 * prod(call.views["dst"].shape) * prod(weights.shape) // max(prod(filters), 1)
    return 32 * prod(src.shape)


def finish(
    description: Description, arguments: list[tuple[str, Layout, Array]], written: tuple[str, ...]
) -> Execution:
    size = description.scratch
    if hint(size):
        place = temporary(size)
        arguments = [*arguments, ("scratchpad", description.layout("scratchpad"), place)]
    return Execution(description, arguments, written)


def reorder(source: Layout, start: Array, target: Layout, end: Array) -> Execution:
    made = dnn.described("reorder", source, dnn.engine(), target, dnn.engine(), dnn.attributes())
    moved = finish(made, [("src", source, start), ("dst", target, end)], ("dst",))
    moved.label = "reorder"
    return moved


class Sequence:
    """A primitive with reorders around it where the layouts differ."""

    def __init__(self, description: Description) -> None:
        self.description = description
        self.before: list[Execution] = []
        self.after: list[Execution] = []
        self.arguments: list[tuple[str, Layout, Array]] = []
        self.written: list[str] = []

    def read(self, name: str, view: View) -> None:
        user, library = self._bind(name, view)
        if user != library:
            self.before.append(reorder(*user, *library))

    def write(self, name: str, view: View) -> None:
        user, library = self._bind(name, view)
        if user != library:
            self.after.append(reorder(*library, *user))
        self.written.append(name)

    def _bind(self, name: str, view: View) -> tuple[tuple[Layout, Array], tuple[Layout, Array]]:
        """Layout and memory as the region has them, and as the primitive takes them."""
        have, want = plain(view), self.description.layout(name)
        place = memory_of(view.operand)
        bound = (have, place) if have == want else (want, temporary(want.nbytes))
        self.arguments.append((name, *bound))
        return (have, place), bound

    def extra(self, name: str, layout: Layout, place: Array, written: bool = False) -> None:
        self.arguments.append((name, layout, place))
        if written:
            self.written.append(name)

    def done(self) -> list[Execution]:
        made = finish(self.description, self.arguments, tuple(self.written))
        return [*self.before, made, *self.after]
