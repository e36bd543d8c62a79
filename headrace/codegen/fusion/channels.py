"""Sums per channel and what follows from them, block of channels by block of channels.

Images lie as (batch, blocks of channels, rows, columns, channels of a block), see layouts.  A stage
that sums such images per channel, stages per channel that use the sums, and images made from those
become one kernel: for each block the sums first, then the rest, while the block's images are still in
a cache.  Every value is a vector: the channels of a block.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from headrace.codegen.fusion.inlining import has_reduction
from headrace.codegen.fusion.members import MAX_MEMBERS, MAX_WEIGHT, Member
from headrace.codegen.ir.kernel_ir import BOOL, F32, INDEX, Array, Compute, Expr, Var, lane, var
from headrace.codegen.ir.stages import memory
from headrace.codegen.ir.traverse import loads, rewrite, substitute, walk
from headrace.codegen.machine import threads
from headrace.codegen.machine.target import host
from headrace.core.records import record
from headrace.core.sizes import is_open, same

FEW_BLOCKS = 8  # or fewer than threads: such a kernel would leave some idle


@record
class ChannelStage:
    """A stage as such a kernel sees it: its first loop runs over blocks.  `image` are the sizes of
    the images that it makes or sums, none where it only has numbers per channel."""

    member: Member
    blocks: int
    image: tuple[int, ...] | None


@dataclass(slots=True, eq=False)
class ChannelGroup:
    """Stages that run in one kernel."""

    blocks: int
    image: tuple[int, ...]
    members: list[Member] = field(default_factory=list)
    weight: int = 0

    @property
    def row_rank(self) -> int:
        return 1

    def join(self, stage: ChannelStage) -> bool:
        if stage.blocks != self.blocks or stage.image not in (None, self.image):
            return False
        if len(self.members) >= MAX_MEMBERS or self.weight + stage.member.weight > MAX_WEIGHT:
            return False
        self.members.append(stage.member)
        self.weight += stage.member.weight
        return True


def group_of(stages: list[ChannelStage]) -> ChannelGroup | None:
    """A new group of these stages."""
    image = next((s.image for s in stages if s.image is not None), None)
    if image is None or stages[0].blocks < max(FEW_BLOCKS, threads.count()):
        return None
    group = ChannelGroup(stages[0].blocks, image)
    return group if all(map(group.join, stages)) else None


def stage_of(array: Array, made: Compute) -> ChannelStage | None:
    """None where a stage is not of this kind."""
    width = host().lanes(32)
    shape = array.shape
    if array.kind is not F32 or width < 2:
        return None
    if len(shape) == 5 and same(shape[-1], width) and not has_reduction(made.body):
        return _image(array, made, width)
    if len(shape) == 2 and same(shape[-1], width) and has_reduction(made.body):
        return _sums(array, made, width)
    if len(shape) == 1 and not is_open(shape[0]) and shape[0] % width == 0 and not has_reduction(made.body):
        return _numbers(array, made, width)
    return None


def _image(array: Array, made: Compute, width: int) -> ChannelStage | None:
    n, block, h, w, inner = made.vars
    body = substitute(made.body, {inner: lane(width)})
    place = _Place(block, width, (n, h, w), array.shape)
    found = place.rewritten(body)
    space = tuple(v for v in (n, h, w) if v.extent != 1)
    if found is None or not space:
        return None
    member = Member(array, (block, *space), found, False)
    return ChannelStage(member, block.extent, place.space)


def _sums(array: Array, made: Compute, width: int) -> ChannelStage | None:
    block, inner = made.vars
    body = substitute(made.body, {inner: lane(width)})
    folds = [x for x in walk(body) if x.op == "reduce"]
    how, loops = folds[0].extra
    if len(folds) > 1 or how != "sum" or len(loops) != 3 or prod(v.extent for v in loops) == 1:
        return None
    n, h, w = (v.extent for v in loops)
    place = _Place(block, width, loops, (n, block.extent, h, w, width))
    found = place.rewritten(body)
    if found is None:
        return None
    return ChannelStage(Member(array, (block,), found, True), block.extent, place.space)


def _numbers(array: Array, made: Compute, width: int) -> ChannelStage | None:
    (channel,) = made.vars
    block = Var(channel.extent // width)
    body = substitute(made.body, {channel: var(block) * width + lane(width)})
    found = _Place(block, width, (), ()).rewritten(body)
    return None if found is None else ChannelStage(Member(array, (block,), found, False), block.extent, None)


class _Place:
    """What a stage may read: images at its own place, numbers of its own channel, single numbers."""

    def __init__(self, block: Var, width: int, loops: tuple[Var, ...], shape: tuple[int, ...]) -> None:
        self.block, self.width, self.loops, self.shape = block, width, loops, shape
        self.channel = var(block) * width + lane(width)

    @property
    def space(self) -> tuple[int, ...]:
        return tuple(v.extent for v in self.loops)

    def rewritten(self, body: Expr) -> Expr | None:
        """The body, numbers per channel read from where they are made."""
        read = loads(body)
        if not all(map(self.may_read, read)) or not self.is_plain(body):
            return None
        return rewrite(body, lambda old, args: self.moved(old) if old.op == "load" else None)

    def may_read(self, x: Expr) -> bool:
        if not x.free:
            return True
        if len(x.args) == 1:
            return x.args[0] is self.channel
        if len(x.args) == 2:
            return x.args[0] is var(self.block) and x.args[1] is lane(self.width)
        if len(x.args) != 5 or x.extra.shape != self.shape:
            return False
        n, block, h, w, inner = x.args
        own = all(_is_own(i, v) for i, v in zip((n, h, w), self.loops))
        return own and block is var(self.block) and inner is lane(self.width)

    def moved(self, x: Expr) -> Expr | None:
        """A reshape shows the sums as one number per channel."""
        root = memory(x.extra)
        if x.free and len(x.args) == 1 and root.shape == (self.block.extent, self.width):
            found: Expr = root[var(self.block), lane(self.width)]
            return found
        return None

    def is_plain(self, body: Expr) -> bool:
        """Floats and conditions alone, and no loop is used as a number."""
        stack, seen = [body], set()
        while stack:
            x = stack.pop()
            if id(x) in seen:
                continue
            seen.add(id(x))
            if x.op in ("var", "lane") or x.kind not in (F32, BOOL, INDEX):
                return False
            if x.op != "load":
                stack.extend(x.args)
        return True


def _is_own(i: Expr, loop: Var) -> bool:
    return i is var(loop) or (loop.extent == 1 and i.op == "const" and i.extra == 0)
