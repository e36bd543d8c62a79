"""Weights of convolutions in the library's layout, made once and kept.

A program that reads a variable and does not change it (inference) would bring its weights into the
library's layout in every step.  Here that becomes a program of its own, whose results are inputs of
the first one: as long as the variables are the same arrays, it need not run again.  To hold an array
is to keep it as it is (design: a value, once produced, never changes), so nothing else must be
compared.

What follows a convolution and is linear per channel with numbers that stay (a bias, the
normalisation of inference) goes into the weights and the convolution's own bias.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from headrace.codegen.convolution import winograd
from headrace.codegen.fusion.inlining import collect, dependencies
from headrace.codegen.ir.kernel_ir import F32, Array, Compute, Expr, Var, var
from headrace.codegen.ir.stages import Called, ViewOf
from headrace.codegen.ir.traverse import loads, substitute
from headrace.codegen.onednn import onednn, onednn_conv
from headrace.codegen.onednn.onednn_api import LibraryError
from headrace.codegen.onednn.onednn_calls import has_groups, plain
from headrace.ops.declaration.emit import LibraryCall, View, view


@dataclass(slots=True)
class Packed:
    """What the second program makes (`made`) and the first one reads (`given`)."""

    made: list[Array]
    given: list[Array]
    weights: list[tuple[LibraryCall, Array, Array]]  # who reads them; as read; as made

    def measure(self) -> None:
        """How large they are, once all layouts are known."""
        for call, given, made in self.weights:
            if winograd.prefers(call):
                given.shape = made.shape = (winograd.packed_words(call),)
            else:
                given.shape = made.shape = (onednn_conv.weights_layout(call).nbytes // 4,)


def pack(roots: Iterable[Array], free: set[Array]) -> Packed:
    """Change the convolutions below the roots whose weights are arrays of `free` (inputs that the
    program does not change) or constants."""
    wanted = list(roots)
    order = collect(wanted)
    users: dict[Array, list[Array]] = {}
    for array in order:
        for t in dict.fromkeys(dependencies(array)):
            users.setdefault(t, []).append(array)
    found = Packed([], [], [])
    keeps = _Keeps(free)
    for array in order:
        source = array.source
        if not isinstance(source, Called) or not array.count or not _is_packable(source.call):
            continue
        if keeps(source.call.views["weights"].operand):
            _Convolution(array, source.call, keeps).pack(users, set(wanted), found)
    return found


def _is_packable(call: LibraryCall) -> bool:
    """A convolution by the library of float weights: packed ones, and a bias, are floats."""
    return (
        call.kind == "convolution"
        and "packed" not in call.options
        and onednn.supports(call)
        and call.views["weights"].operand.kind is F32
        and not has_groups(call)
    )


class _Keeps:
    """Whether an array is the same in every step, as long as the variables are."""

    def __init__(self, free: set[Array]) -> None:
        self.known = dict.fromkeys(free, True)

    def __call__(self, array: Array) -> bool:
        if array not in self.known:
            is_made = isinstance(array.source, (Compute, ViewOf))
            self.known[array] = array.value is not None or (is_made and all(map(self, dependencies(array))))
        return self.known[array]


class _Convolution:
    """One call, while what follows it is put into it."""

    def __init__(self, array: Array, call: LibraryCall, keeps: Callable[[Array], bool]) -> None:
        self.first = self.out = array
        self.call, self.keeps = call, keeps
        self.factor: Callable[[Expr], Expr] | None = None  # of a channel's number
        self.shift: Callable[[Expr], Expr] | None = None

    def pack(self, users: dict[Array, list[Array]], wanted: set[Array], found: Packed) -> None:
        """Absorb the scaling and bias that follow, then split the convolution: weights in the library's
        layout are made by a second program, and the convolution reads those. Nothing happens where the
        layout is the plain one already and there is nothing to absorb."""
        while "bias" not in self.call.views:
            after = users.get(self.out, [])
            if len(after) != 1 or self.out in wanted or not self.absorb(after[0]):
                break
        given = self.given()
        try:
            layout = onednn_conv.weights_layout(given)
        except LibraryError:
            return
        if layout == plain(given.views["weights"]) and self.out is self.first:
            return
        weights, made = self.scaled(), Array((1,), "float32", name="weights")
        packed = Array((1,), "float32", name="weights")
        views, kept, read = {**given.views}, [made], [packed]
        if self.shift is not None:
            kept.append(self.vector(self.shift))
            read.append(Array(kept[1].shape, "float32", name="bias"))
            views["bias"] = view(read[1])
        call = LibraryCall("convolution", **views, **given.options, packed=packed)
        self.out.source = Called(call, (given.views["src"].operand, *read))
        pack = LibraryCall("pack", src=View(weights, self.order), dst=view(made), whole=call)
        made.source = Called(pack, (weights,))
        found.made += kept
        found.given += read
        found.weights.append((call, packed, made))

    @property
    def order(self) -> tuple[int, ...]:
        return self.call.views["weights"].order

    def given(self) -> LibraryCall:
        """The call with its final result, and a bias if it gets one."""
        views = {**self.call.views, "dst": View(self.out, self.call.views["dst"].order)}
        if self.shift is not None:
            channels = self.call.views["weights"].shape[0]
            views["bias"] = view(Array((channels,), "float32"))
        return LibraryCall("convolution", **views, **self.call.options)

    def scaled(self) -> Array:
        weights: Array = self.call.views["weights"].operand
        factor = self.factor
        if factor is None:
            return weights
        loops = tuple(Var(n) for n in weights.shape)
        index = tuple(map(var, loops))
        body = weights[index] * factor(index[self.order[0]])
        return Array(weights.shape, weights.dtype, source=Compute(loops, body))

    def vector(self, rule: Callable[[Expr], Expr]) -> Array:
        loop = Var(self.call.views["weights"].shape[0])
        return Array((loop.extent,), "float32", source=Compute((loop,), rule(var(loop))))

    # -- what follows ----------------------------------------------------------------------------
    def absorb(self, stage: Array) -> bool:
        """Take over a stage that multiplies and shifts channels."""
        source = stage.source
        if not isinstance(source, Compute) or stage.shape != self.out.shape:
            return False
        channel = source.vars[self.call.views["dst"].order[1]]
        line = self.line(source.body, source.vars, channel)
        if line is None:
            return False
        factor, shift = line
        old_factor, old_shift = self.factor, self.shift

        def both(c: Expr) -> Expr:
            new, old = _at(factor, channel, c), old_factor(c) if old_factor else None
            return new if old is None else old if new is None else new * old  # type: ignore[return-value]

        def moved(c: Expr) -> Expr:
            new, old = _at(shift, channel, c), old_shift(c) if old_shift else None
            scale = _at(factor, channel, c)
            if old is not None and scale is not None:
                old = old * scale
            return new if old is None else old if new is None else new + old  # type: ignore[return-value]

        if factor is not None or old_factor is not None:
            self.factor = both
        if shift is not None or old_shift is not None:
            self.shift = moved
        self.out = stage
        return True

    def line(self, x: Expr, loops: tuple[Var, ...], channel: Var) -> tuple[Expr | None, Expr | None] | None:
        """(a, b) where x is a * result + b per channel; None stands for a factor 1, a shift 0."""
        if x.op == "load" and x.extra is self.out:
            own = all(i is var(v) for i, v in zip(x.args, loops))
            return (None, None) if own else None
        if x.op not in ("add", "sub", "mul", "div"):
            return None
        left, right = x.args
        if self.is_kept(right, channel):
            inner = self.line(left, loops, channel)
            if inner is None:
                return None
            return _changed(x.op, *inner, right)
        if x.op in ("add", "mul") and self.is_kept(left, channel):
            inner = self.line(right, loops, channel)
            return None if inner is None else _changed(x.op, *inner, left)
        return None

    def is_kept(self, x: Expr, channel: Var) -> bool:
        return x.free <= {channel} and all(self.keeps(y.extra) for y in loads(x))


def _changed(op: str, a: Expr | None, b: Expr | None, k: Expr) -> tuple[Expr | None, Expr | None]:
    match op:
        case "add":
            return a, k if b is None else b + k
        case "sub":
            return a, -k if b is None else b - k
        case "mul":
            return k if a is None else a * k, None if b is None else b * k
    return 1.0 / k if a is None else a / k, None if b is None else b / k


def _at(x: Expr | None, channel: Var, c: Expr) -> Expr | None:
    return None if x is None else substitute(x, {channel: c})


def places_of(made: Iterable[Array], inputs: Sequence[Array]) -> list[int]:
    """Which of the inputs the stages read."""
    read = {t for array in [*collect(made)] for t in dependencies(array)}
    return [i for i, t in enumerate(inputs) if t in read]
