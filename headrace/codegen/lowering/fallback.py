"""Library calls as stages of our own: for types that no library has, and where oneDNN is missing.

Straight from the definitions; slower than a library, and its test oracle.  In: a LibraryCall whose
views are in the library's order.  Out: the array it writes, as stages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, prod

from headrace.codegen.ir import kernel_ir as ir
from headrace.codegen.ir.kernel_ir import BF16, F16, F32, Array, Expr
from headrace.codegen.ir.stages import ViewOf
from headrace.codegen.lowering.lower import Emitter
from headrace.core.dtypes import NDArray
from headrace.ops.declaration.emit import Decline, LibraryCall, View


def lower(e: Emitter, call: LibraryCall) -> Array:
    """The result of the call."""
    rule = _RULES.get(call.kind)
    if rule is None or call.options.get("post_ops") or "bias" in call.views:
        raise Decline(f"no library does {call.kind}, nor do we")
    return rule(e, call)


def read(view: View, index: Sequence[Expr]) -> Expr:
    """The element at an index in the library's order; half floats as float."""
    own: list[ir.Index] = [0] * len(view.order)
    for axis, i in zip(view.order, index):
        own[axis] = i
    operand: Array = view.operand
    if view.sizes is not None:
        operand = Array(view.sizes, operand.dtype, value=_shaped(view), source=ViewOf(operand))
    found: Expr = operand[tuple(own)]
    return ir.cast(found, F32) if found.kind in (F16, BF16) else found


def _shaped(view: View) -> NDArray | None:
    value = view.operand.value
    return None if value is None else value.reshape(view.sizes)


def write(e: Emitter, view: View, rule: Callable[..., Expr]) -> Array:
    """An array like the view's operand: rule gives the element at an index in the library's
    order."""

    def body(*own: Expr) -> Expr:
        return ir.cast(rule(*(own[axis] for axis in view.order)), view.operand.kind)

    return e.view(e.compute(view.whole, body), view.operand.shape)


# -- matrix products -----------------------------------------------------------------------------
def _matmul(e: Emitter, call: LibraryCall) -> Array:
    a, b = call.views["src"], call.views["weights"]

    def at(view: View, lead: Sequence[Expr], *rest: Expr) -> Expr:
        kept = [i if n != 1 else ir.const(0, ir.INDEX) for i, n in zip(lead, view.shape)]
        return read(view, [*kept, *rest])

    def element(*i: Expr) -> Expr:
        *lead, row, column = i
        return e.reduce("sum", a.shape[-1], lambda k: at(a, lead, row, k) * at(b, lead, k, column))

    return write(e, call.views["dst"], element)


# -- convolutions --------------------------------------------------------------------------------
class _Geometry:
    """Strides, dilations and paddings, one per spatial dimension."""

    def __init__(self, call: LibraryCall) -> None:
        o = call.options
        self.strides = o["strides"]
        self.before = [p[0] for p in o["pads"]]
        self.dilations = o.get("dilations") or [1] * len(self.strides)
        weights = call.views.get("weights")
        self.window = o["window"] if weights is None else weights.shape[-len(self.strides) :]
        self.groups = 1
        if weights is not None and len(weights.shape) > len(call.views["src"].shape):
            self.groups = weights.shape[0]

    def source(self, out: Sequence[Expr], k: Sequence[Expr]) -> list[Expr]:
        """Where in the image output `out` looks with window element k; may be outside."""
        return [o * s + j * d - p for o, j, s, d, p in zip(out, k, self.strides, self.dilations, self.before)]

    def target(self, at: Sequence[Expr], k: Sequence[Expr]) -> tuple[list[Expr], Expr]:
        """Which output looks at image place `at` with window element k, and whether one does."""
        places, whole = [], ir.const(True, ir.BOOL)
        for i, j, s, d, p in zip(at, k, self.strides, self.dilations, self.before):
            moved = i + p - j * d
            places.append(moved // s)
            whole = whole & (moved >= 0) & (moved % s == 0)
        return places, whole

    def filter(self, view: View, group: Expr, o: Expr, i: Expr, k: Sequence[Expr]) -> Expr:
        lead = [group, o, i] if self.groups > 1 or len(view.shape) > len(k) + 2 else [o, i]
        return read(view, [*lead, *k])


def inside(at: Sequence[Expr], shape: Sequence[int]) -> Expr:
    found = ir.const(True, ir.BOOL)
    for i, n in zip(at, shape):
        found = found & (i >= 0) & (i < n)
    return found


def _sizes(call: LibraryCall) -> tuple[int, int]:
    """Input and output channels of one group."""
    weights, rank = call.views["weights"], len(call.options["strides"])
    return weights.shape[-rank - 1], weights.shape[-rank - 2]


def _convolution(e: Emitter, call: LibraryCall) -> Array:
    """Every result is a sum over the window and the input channels of its group."""
    g, (ins, outs) = _Geometry(call), _sizes(call)
    src, weights = call.views["src"], call.views["weights"]

    def element(n: Expr, c: Expr, *out: Expr) -> Expr:
        group, o = c // outs, c % outs

        def term(*r: Expr) -> Expr:
            *k, i = r
            x = read(src, [n, group * ins + i, *g.source(out, k)])
            return x * g.filter(weights, group, o, i, k)

        return e.reduce("sum", [*g.window, ins], term)

    return write(e, call.views["dst"], element)


def _convolution_data(e: Emitter, call: LibraryCall) -> Array:
    """Every place of the image sums over the results that look at it: a gather, so that no two threads
    write one place."""
    g, (ins, outs) = _Geometry(call), _sizes(call)
    dst, weights = call.views["dst"], call.views["weights"]

    def element(n: Expr, c: Expr, *at: Expr) -> Expr:
        group, i = c // ins, c % ins

        def term(*r: Expr) -> Expr:
            *k, o = r
            places, whole = g.target(at, k)
            held = whole & inside(places, dst.shape[2:])
            dy = read(dst, [n, group * outs + o, *places])
            return ir.select(held, dy * g.filter(weights, group, o, i, k), 0)

        return e.reduce("sum", [*g.window, outs], term)

    return write(e, call.views["src"], element)


def _convolution_weights(e: Emitter, call: LibraryCall) -> Array:
    """Every weight sums over all results, of all images."""
    g, (ins, outs) = _Geometry(call), _sizes(call)
    src, dst, weights = (call.views[k] for k in ("src", "dst", "weights"))
    rank = len(g.strides)

    def element(*own: Expr) -> Expr:
        *lead, o, i = own[:-rank]
        group = lead[0] if lead else ir.const(0, ir.INDEX)
        k = own[-rank:]

        def term(n: Expr, *out: Expr) -> Expr:
            x = read(src, [n, group * ins + i, *g.source(out, k)])
            return x * read(dst, [n, group * outs + o, *out])

        return e.reduce("sum", [dst.shape[0], *dst.shape[2:]], term)

    return write(e, weights, element)


# -- pooling -------------------------------------------------------------------------------------
def _lowest(kind: ir.Kind) -> Expr:
    if kind.is_float:
        return ir.const(-inf, F32 if kind in (F16, BF16) else kind)
    return ir.const(-(1 << (kind.bits - 1)) if kind.is_signed else 0, kind)


def _max_pool(e: Emitter, call: LibraryCall) -> Array:
    g, src = _Geometry(call), call.views["src"]

    def element(n: Expr, c: Expr, *out: Expr) -> Expr:
        def term(*k: Expr) -> Expr:
            at = g.source(out, k)
            x = read(src, [n, c, *at])
            return ir.select(inside(at, src.shape[2:]), x, _lowest(src.operand.kind))

        return e.reduce("max", g.window, term)

    return write(e, call.views["dst"], element)


def _covered(g: _Geometry, out: Sequence[Expr], shape: Sequence[int]) -> Expr:
    """How many elements of the window are in the image."""
    total = ir.const(1, ir.INDEX)
    for o, s, p, w, n in zip(out, g.strides, g.before, g.window, shape):
        start = o * s - p
        first = ir.binary("max", start, 0)
        total = total * (ir.binary("min", start + w, n) - first)
    return total


def _avg_pool(e: Emitter, call: LibraryCall) -> Array:
    g, src = _Geometry(call), call.views["src"]

    def element(n: Expr, c: Expr, *out: Expr) -> Expr:
        total = e.reduce("sum", g.window, lambda *k: read(src, [n, c, *g.source(out, k)]))
        return total / ir.cast(_covered(g, out, src.shape[2:]), total.kind)

    return write(e, call.views["dst"], element)


def _avg_pool_data(e: Emitter, call: LibraryCall) -> Array:
    g, src, dst = _Geometry(call), call.views["src"], call.views["dst"]

    def element(n: Expr, c: Expr, *at: Expr) -> Expr:
        def term(*k: Expr) -> Expr:
            places, whole = g.target(at, k)
            dy = read(dst, [n, c, *places])
            held = whole & inside(places, dst.shape[2:])
            count = ir.select(held, _covered(g, places, src.shape[2:]), 1)
            return ir.select(held, dy / ir.cast(count, dy.kind), 0)

        return e.reduce("sum", g.window, term)

    return write(e, src, element)


def _max_pool_data(e: Emitter, call: LibraryCall) -> Array:
    """First where each window's maximum is, then every place collects from the windows over it."""
    g, src, grad = _Geometry(call), call.views["src"], call.views["diff_dst"]
    zero = ir.const(0, ir.INDEX)
    steps = [prod(g.window[i + 1 :]) for i in range(len(g.window))]

    def winner(n: Expr, c: Expr, *out: Expr) -> Expr:
        """The first element of the window, or a larger one: NaN stays there, and never is larger."""
        corner = zip(out, g.strides, g.before, steps)
        first = sum((ir.binary("max", p - o * s, 0) * m for o, s, p, m in corner), zero)

        def term(r: Expr) -> Expr:
            at = g.source(out, [r // s % w for s, w in zip(steps, g.window)])
            x = read(src, [n, c, *at])
            if x.kind.is_float:
                top = ir.select(r == first, ir.const(inf, x.kind), _lowest(x.kind))
                x = ir.select(e.is_nan(x), top, x)
            return ir.select(inside(at, src.shape[2:]), x, _lowest(x.kind))

        return e.max(e.reduce("argmax", prod(g.window), term), ir.cast(first, ir.I64))

    where = e.compute(grad.shape, winner)

    def element(n: Expr, c: Expr, *at: Expr) -> Expr:
        def term(*k: Expr) -> Expr:
            places, whole = g.target(at, k)
            dy = read(grad, [n, c, *places])
            mine = sum((j * s for j, s in zip(k, steps)), zero)
            held = whole & inside(places, grad.shape[2:])
            won = where[(n, c, *places)] == ir.cast(mine, ir.I64)
            return ir.select(held & won, dy, 0)

        return e.reduce("sum", g.window, term)

    return write(e, call.views["diff_src"], element)


_RULES: dict[str, Callable[[Emitter, LibraryCall], Array]] = {
    "matmul": _matmul,
    "convolution": _convolution,
    "convolution_data": _convolution_data,
    "convolution_weights": _convolution_weights,
    "max_pool": _max_pool,
    "avg_pool": _avg_pool,
    "avg_pool_data": _avg_pool_data,
    "max_pool_data": _max_pool_data,
}
