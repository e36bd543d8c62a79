"""Images in the library's own layout, from one call to the next.

In: the stages of a program.  Where the library would rather have images as (batch, blocks of
channels, space..., channels of a block), every array that only its calls and harmless stages touch
gets that shape, and the stages are rewritten for it; other arrays keep theirs.  What reshapes such
an array reads a plain copy of it; a call that meets both kinds reorders by itself.

Harmless are stages that read each array at their own place (the loops then run over the new
dimensions, which lie in memory as before: one long loop), blocks put side by side along whole
blocks of channels, and sums per channel.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from headrace.codegen.convolution import pools
from headrace.codegen.fusion.inlining import collect, dependencies, has_reduction
from headrace.codegen.ir.kernel_ir import F32, INDEX, Array, Compute, Expr, Var, const, var
from headrace.codegen.ir.stages import Assembled, Called, ViewOf
from headrace.codegen.ir.traverse import loads, rewrite
from headrace.codegen.onednn import onednn, onednn_conv
from headrace.codegen.onednn.onednn_api import LibraryError
from headrace.codegen.onednn.onednn_calls import Blocked
from headrace.ops.declaration.emit import LibraryCall, View, view

CONVOLUTIONS = ("convolution", "convolution_data", "convolution_weights")
POOLS = ("max_pool", "max_pool_data", "avg_pool", "avg_pool_data")


def assign(roots: Iterable[Array]) -> None:
    """Change the stages below the roots.  The roots themselves, and inputs, stay plain."""
    wanted = set(roots)
    order = collect(wanted)
    calls = [t.source.call for t in order if isinstance(t.source, Called)]
    convolutions = [c for c in calls if c.kind in CONVOLUTIONS and onednn.supports(c)]
    block = preferred(convolutions)
    if not block:
        return
    absorb_biases(order, wanted)
    chosen = _Choice(collect(wanted), wanted, block)
    if chosen.arrays:
        _Rewriting(chosen).run()


def preferred(convolutions: list[LibraryCall]) -> int:
    """Channels per block that the library would choose for most; 0 if it has none or they differ."""
    votes: dict[int, int] = {}
    for call in convolutions:
        if any(n == 0 for v in call.views.values() for n in v.shape) or len(call.options["strides"]) != 2:
            continue
        try:
            found = onednn_conv.preferred_block(call)
        except LibraryError:
            continue
        votes[found] = votes.get(found, 0) + 1
    best = max(votes, key=votes.__getitem__, default=0)
    return best if 2 * votes.get(best, 0) > sum(votes.values()) else 0


# -- biases --------------------------------------------------------------------------------------
def absorb_biases(order: list[Array], wanted: set[Array]) -> None:
    """convolution + bias, nobody else reading the convolution -> a convolution with a bias"""
    users = users_of(order)
    for array in order:
        source = array.source
        if not isinstance(source, Called) or source.call.kind != "convolution" or array in wanted:
            continue
        after = users.get(array, [])
        if "bias" in source.call.views or len(after) != 1 or not onednn.supports(source.call):
            continue
        bias = bias_of(after[0], array, source.call.views["dst"].order[1])
        if bias is None:
            continue
        dst = View(after[0], source.call.views["dst"].order)
        views = {**source.call.views, "dst": dst, "bias": view(bias)}
        call = LibraryCall("convolution", **views, **source.call.options)
        try:
            onednn.describe(call)
        except LibraryError:
            continue
        after[0].source = Called(call, (*source.inputs, bias))


def bias_of(stage: Array, array: Array, axis: int) -> Array | None:
    """b, if the stage is tensor[i] + b[channel of i]."""
    source = stage.source
    if not isinstance(source, Compute) or source.body.op != "add" or stage.shape != array.shape:
        return None
    for x, b in (source.body.args, source.body.args[::-1]):
        if x.op == b.op == "load" and x.extra is array and len(b.args) == 1:
            is_vector = b.extra.shape == (array.shape[axis],)
            is_bias = is_vector and b.args[0] is var(source.vars[axis])
            if is_bias and all(i is var(v) for i, v in zip(x.args, source.vars)):
                found: Array = b.extra
                return found
    return None


def users_of(order: list[Array]) -> dict[Array, list[Array]]:
    users: dict[Array, list[Array]] = {}
    for array in order:
        for t in dict.fromkeys(dependencies(array)):
            users.setdefault(t, []).append(array)
    return users


# -- which arrays --------------------------------------------------------------------------------
def images(call: LibraryCall) -> Iterator[View]:
    """The views that may have blocks."""
    if call.kind in CONVOLUTIONS or call.kind in POOLS:
        for name, found in call.views.items():
            if name not in ("weights", "bias") and len(found.shape) == 4:
                yield found


def _takes_blocks(call: LibraryCall) -> bool:
    return pools.supports(call) or onednn.supports(call)


class _Choice:
    """`arrays`: those that get blocks, with the order of their dimensions (batch, channels,
    space...)."""

    def __init__(self, order: list[Array], wanted: set[Array], block: int) -> None:
        self.order, self.wanted, self.block = order, wanted, block
        self.users = users_of(order)
        self.arrays: dict[Array, tuple[int, ...]] = {}
        self.known: dict[tuple[int, frozenset[str]], bool] = {}
        for array in order:
            if isinstance(array.source, Called) and _takes_blocks(array.source.call):
                for found in images(array.source.call):
                    self.spread(found.operand, found.order)
        while bad := [t for t in self.arrays if not self.fits(t)]:
            for array in bad:
                del self.arrays[array]

    def spread(self, array: Array, order: tuple[int, ...]) -> None:
        """Note an array, and those that stages read or write along with it."""
        if array in self.arrays or len(array.shape) != 4 or array in self.wanted:
            return
        if array.kind is not F32 or array.source is None or array.shape[order[1]] % self.block:
            return
        if not isinstance(array.source, (Called, Compute, Assembled)) or not array.count:
            return
        self.arrays[array] = order
        near = [] if isinstance(array.source, Called) else dependencies(array)
        near += [t for t in self.users.get(array, ()) if isinstance(t.source, (Compute, Assembled))]
        for other in near:
            self.spread(other, order)

    def fits(self, array: Array) -> bool:
        """Whether an array can have blocks: its stage must be able to write them, and every reader to
        read them. Parts of an assembled array must begin at whole blocks."""
        order, source = self.arrays[array], array.source
        if isinstance(source, Called):
            made = [v for v in images(source.call) if v.operand is array]
            if not made or any(v.order != order for v in made) or not self.is_fast(source.call):
                return False
        elif isinstance(source, Assembled):
            starts = [offset[order[1]] for offset, _ in source.parts]
            if any(n % self.block for n in starts):
                return False
            if any(self.arrays.get(part) != order for _, part in source.parts):
                return False
        elif not self.is_harmless(array):
            return False
        return all(self.may_read(user, array) for user in self.users.get(array, ()))

    def may_read(self, user: Array, array: Array) -> bool:
        source = user.source
        match source:
            case Called(call=call):
                read = [v for v in call.views.values() if v.operand is array]
                known = [v for v in images(call) if v.operand is array]
                same = all(v.order == self.arrays[array] for v in read)
                return len(read) == len(known) > 0 and same and self.is_fast(call)
            case Compute():
                return self.is_harmless(user)
            case Assembled():
                return user in self.arrays
        return isinstance(source, ViewOf)

    def is_harmless(self, stage: Array) -> bool:
        """A stage whose loops can run over blocks."""
        source = stage.source
        assert isinstance(source, Compute)
        order = self.arrays.get(stage)
        channel = None if order is None else source.vars[order[1]]
        for x in loads(source.body):
            if x.extra in self.arrays:
                found = self.channel_of(x)
                if found is None or found not in source.vars:
                    return False
                if channel is not None and found is not channel:
                    return False
                channel = found
            elif order is not None and channel in x.free:
                if 4 * x.extra.count > stage.count:
                    return False  # another array as large
        return order is not None or has_reduction(source.body)

    def channel_of(self, load: Expr) -> Var | None:
        """The loop that runs over the channels of what is read, if it starts at a block."""
        at = load.args[self.arrays[load.extra][1]]
        if at.op == "add" and at.args[1].op == "const" and at.args[1].extra % self.block == 0:
            at = at.args[0]
        return at.extra if at.op == "var" else None

    def is_fast(self, call: LibraryCall) -> bool:
        """Is there code for these layouts?  Our own pooling takes any."""
        key = (id(call), frozenset(k for k, v in call.views.items() if v.operand in self.arrays))
        if key not in self.known:
            self.known[key] = pools.supports(call) or (onednn.supports(call) and self.has_code(call))
        return self.known[key]

    def has_code(self, call: LibraryCall) -> bool:
        views: dict[str, View] = {}
        for name, v in call.views.items():
            if v.operand in self.arrays:
                shape = physical(v.operand.shape, v.order, self.block)
                views[name] = Blocked(Array(shape, v.operand.dtype), v.order, block=self.block)
            else:
                views[name] = v
        try:
            onednn.describe(LibraryCall(call.kind, **views, **call.options))
        except LibraryError:
            return False
        return True


def physical(shape: tuple[int, ...], order: tuple[int, ...], block: int) -> tuple[int, ...]:
    n, c, *space = (shape[axis] for axis in order)
    return (n, c // block, *space, block)


# -- the new stages ------------------------------------------------------------------------------
@dataclass(slots=True)
class _Split:
    """A loop over channels as one over blocks and one inside them."""

    channel: Var
    outer: Expr
    inner: Expr


class _Rewriting:
    def __init__(self, choice: _Choice) -> None:
        self.choice, self.block, self.orders = choice, choice.block, choice.arrays
        self.plain: dict[Array, Array] = {}  # copies in the plain layout, for stages that cannot read blocks

    def run(self) -> None:
        """Give the chosen arrays their physical shapes, and rewrite every stage that makes or reads one.
        A reshape of such an array sees a plain copy: its elements would come in another order."""
        shapes = {t: t.shape for t in self.orders}
        for array, order in self.orders.items():
            array.shape = physical(array.shape, order, self.block)
        for array in self.choice.order:
            match array.source:
                case Called(call=call, inputs=inputs):
                    self.change_call(array, call, inputs)
                case Compute() as source:
                    read = any(x.extra in self.orders for x in loads(source.body))
                    if array in self.orders:
                        array.source = self.blocked(source, self.orders[array])
                    elif read:
                        self.change_reduction(array, source)
                case Assembled(parts=parts) if array in self.orders:
                    order = self.orders[array]
                    array.source = Assembled(tuple((self.offset(at, order), part) for at, part in parts))
                case ViewOf(base=base) if base in self.orders:
                    array.source = ViewOf(self.copy_of(base, shapes[base]))

    def change_call(self, array: Array, call: LibraryCall, inputs: tuple[Array, ...]) -> None:
        if not any(v.operand in self.orders for v in call.views.values()):
            return
        for name, v in call.views.items():
            if v.operand in self.orders:
                call.views[name] = Blocked(v.operand, v.order, block=self.block)

    def blocked(self, source: Compute, order: tuple[int, ...]) -> Compute:
        """The loops in the order of memory."""
        split, outer, inner = self.split(source.vars[order[1]])
        n, _, *space = (source.vars[axis] for axis in order)
        return Compute((n, outer, *space, inner), self.expression(source.body, split))

    def change_reduction(self, array: Array, source: Compute) -> None:
        """The result per channel as blocks of results, seen as before."""
        channel = next(self.choice.channel_of(x) for x in loads(source.body) if x.extra in self.orders)
        assert channel is not None
        axis = source.vars.index(channel)
        split, outer, inner = self.split(channel)
        loops = (*source.vars[:axis], outer, inner, *source.vars[axis + 1 :])
        body = self.expression(source.body, split)
        made = Array([v.extent for v in loops], array.dtype, source=Compute(loops, body))
        made.moment, made.name = array.moment.before(), array.name
        array.source = ViewOf(made)
        if array in self.choice.wanted:
            seen = Array(array.shape, array.dtype, source=ViewOf(made))
            seen.moment = array.moment.before()
            again = tuple(Var(n) for n in array.shape)
            array.source = Compute(again, seen[tuple(map(var, again))])

    def split(self, channel: Var) -> tuple[_Split, Var, Var]:
        outer, inner = Var(channel.extent // self.block), Var(self.block)
        return _Split(channel, var(outer), var(inner)), outer, inner

    def expression(self, body: Expr, split: _Split) -> Expr:
        """A body whose loop over channels became two: loads of blocked arrays by block and place inside,
        all else by the channel that these are."""
        whole = split.outer * self.block + split.inner

        def change(old: Expr, args: tuple[Expr, ...]) -> Expr | None:
            if old.op == "var" and old.extra is split.channel:
                return whole
            if old.op != "load" or old.extra not in self.orders:
                return None
            n, c, *space = self.orders[old.extra]
            start = old.args[c]
            blocks = start.args[1].extra // self.block if start.op == "add" else 0
            at = split.outer + const(blocks, INDEX)
            found: Expr = old.extra[(args[n], at, *(args[a] for a in space), split.inner)]
            return found

        return rewrite(body, change)

    def offset(self, at: tuple[int, ...], order: tuple[int, ...]) -> tuple[int, ...]:
        n, c, *space = (at[axis] for axis in order)
        return (n, c // self.block, *space, 0)

    def copy_of(self, array: Array, shape: tuple[int, ...]) -> Array:
        if array not in self.plain:
            order = self.orders[array]
            copy = Array(shape, array.dtype, name=array.name)
            copy.moment = array.moment.after()
            call = LibraryCall("reorder", src=Blocked(array, order, block=self.block), dst=View(copy, order))
            copy.source = Called(call, (array,))
            self.plain[array] = copy
        return self.plain[array]
