"""Op rules -> stages.  Implements the interface that rules are written against (ops.declaration.emit).

In: an op, its operands with concrete shapes, its attributes.  Out: one `Array` per output, with
the stages behind it; updates of variables and checks of values are collected on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from headrace.codegen.ir import kernel_ir as ir
from headrace.codegen.ir.complex_numbers import Operand, Planes
from headrace.codegen.ir.kernel_ir import (
    BOOL,
    INDEX,
    Array,
    Compute,
    Expr,
    Scalar,
    TypeLike,
    Var,
    kind_of,
    var,
)
from headrace.codegen.ir.stages import NO_PLACE, Assembled, Check, Scatter, Temporary, Update, ViewOf, memory
from headrace.codegen.ir.traverse import substitute
from headrace.codegen.lowering import wide_sums
from headrace.core.modules import late
from headrace.core.sizes import whole
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.declare import Op, wanted
from headrace.ops.declaration.emit import Decline
from headrace.ops.declaration.traits import ELEMENTWISE
from headrace.plan.plan import PlanNode

expanding = late("headrace.codegen.lowering.composed")

if TYPE_CHECKING:
    from headrace.codegen.lowering.specialize import Specializer

# Scalars that are built into a kernel; all others are read, so that kernels are shared.
_PLAIN = frozenset((-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0))


def _base_and_offset(x: Expr) -> tuple[Expr | Array, int]:
    """An integer as base + offset, where the offset is the sum of the constants added to the base."""
    offset = 0
    while x.op == "load":
        source = memory(x.extra).source
        if not isinstance(source, Compute) or source.vars or source.body.op not in ("add", "sub"):
            return memory(x.extra), offset
        if source.body.args[1].op != "const":
            return memory(x.extra), offset
        x, more = source.body.args
        offset += int(more.extra) if source.body.op == "add" else -int(more.extra)
    return x, offset


Attrs = Mapping[str, Any]  # what a node was built with: of many types, by name
Rule = Callable[..., Any]  # of an op: typed by its signature, and checked where its results are used
Argument = Array | Sequence[Array]  # of an op: a list where its signature says so


class Emitter:
    """ops.declaration.emit.Emitter over kernel IR."""

    def __init__(self) -> None:
        self.updates: list[Update] = []
        self.checks: list[Check] = []
        self.effects: list[Array] = []  # what must happen, in this order
        self.repeated: dict[Array, Array] = {}  # indices with equal ones -> which of them leads
        self.node: PlanNode | None = None  # whose rule is running
        self.specializer: Specializer | None = None  # walks what rules compose

    # -- one element -------------------------------------------------------------------------
    def const(self, value: ir.Number, dtype: TypeLike) -> Expr:
        return ir.const(value, kind_of(dtype))

    def size(self, n: int, dtype: TypeLike) -> Expr:
        return ir.size(n, kind_of(dtype))

    def cast(self, x: Expr, dtype: TypeLike) -> Expr:
        return ir.cast(x, kind_of(dtype))

    def bitcast(self, x: Expr, dtype: TypeLike) -> Expr:
        kind = kind_of(dtype)
        if kind.bits != x.kind.bits:
            raise Decline(f"bitcast from {x.kind} to {kind}")
        return x if kind is x.kind else ir.make("bitcast", (x,), kind)

    def select(self, condition: Expr, x: Scalar, y: Scalar) -> Expr:
        return ir.select(condition, x, y)

    def max(self, x: Scalar, y: Scalar) -> Expr:
        return ir.binary("max", x, y)

    def min(self, x: Scalar, y: Scalar) -> Expr:
        return ir.binary("min", x, y)

    def abs(self, x: Expr) -> Expr:
        return ir.unary("abs", x)

    def conj(self, x: Expr) -> Expr:
        return x

    def sign(self, x: Expr) -> Expr:
        return ir.unary("sign", x)

    def round(self, x: Expr) -> Expr:
        return ir.unary("rint", x)

    def truncate_div(self, x: Expr, y: Scalar) -> Expr:
        return ir.binary("truncdiv", x, y)

    def truncate_mod(self, x: Expr, y: Scalar) -> Expr:
        return ir.binary("truncmod", x, y)

    def is_nan(self, x: Expr) -> Expr:
        return ir.unary("is_nan", _float(x), BOOL)

    def is_inf(self, x: Expr) -> Expr:
        return ir.unary("is_inf", _float(x), BOOL)

    def is_finite(self, x: Expr) -> Expr:
        return ir.unary("is_finite", _float(x), BOOL)

    def atan2(self, y: Expr, x: Scalar) -> Expr:
        return ir.binary("atan2", _float(y), x)

    def pow(self, x: Scalar, y: Scalar) -> Expr:
        base, power = ir.pair(x, y)
        if not base.kind.is_float:
            raise Decline("powers of integers")
        exponent = ir.constant_value(power) if power.op == "const" else None
        if exponent == 2.0:
            return base * base
        if exponent == 1.0:
            return base
        if exponent == -1.0:
            return 1.0 / base
        return ir.make("pow", (base, power), base.kind)

    def require(self, condition: Expr, message: str) -> None:
        self.check(condition, message, None, 0)

    def check(self, holds: Expr, message: str, value: Expr | None, extent: int) -> None:
        """Stages that find the first place where it does not hold, and the value there."""
        ones = {v: ir.const(0, INDEX) for v in _loops(holds) if v.extent == 1}
        holds = substitute(holds, ones)
        loops = _loops(holds)
        shape = tuple(v.extent for v in loops)
        steps = [prod(shape[k + 1 :]) for k in range(len(shape))]

        def place(*at: Expr) -> Expr:
            flat = sum((i * n for i, n in zip(at, steps)), ir.const(0, INDEX))
            here = substitute(holds, dict(zip(loops, at)))
            return ir.select(here, ir.const(NO_PLACE, ir.I64), ir.cast(flat, ir.I64))

        if loops:
            bad = self.compute((), lambda: ir.reduce("min", shape, place))
        else:
            bad = self.compute((), place)
        found = None
        if value is not None:
            first = ir.index_expr(bad[()])
            at = [first // n % extent for n, extent in zip(steps, shape)]
            there = substitute(value, {**ones, **dict(zip(loops, at))})
            found = self.compute((), lambda: ir.cast(there, ir.I64))
        self.checks.append(Check(bad, shape, message, found, extent, self.node))

    # -- whole operands ----------------------------------------------------------------------
    def compute(self, shape: Sequence[int], rule: Callable[..., object]) -> Array:
        loops = tuple(Var(n) for n in shape)
        body = rule(*map(var, loops))
        if not isinstance(body, Expr):
            raise TypeError(f"a stage must compute an expression, not {body!r}")
        if body.kind is INDEX:
            body = ir.cast(body, ir.I64)
        return Array(shape, body.kind, source=Compute(loops, body))

    def reduce(self, kind: str, extents: int | Sequence[int], rule: Callable[..., Expr]) -> Expr:
        return ir.reduce(kind, tuple(extents) if isinstance(extents, Sequence) else (extents,), rule)

    def checked(self, index: Expr, extent: int, message: str) -> Expr:
        at = ir.index_expr(index)
        low, high = ir.interval(at)
        if 0 <= low and high < extent:
            return at
        self.check((at >= 0) & (at < extent), message, at, whole(extent))
        # Clamped all the same: a fed array may change between the check and its use.
        return ir.make("clamp", (at,), INDEX, whole(extent))

    def known(self, value: ArrayLike, dtype: TypeLike | None = None) -> Array:
        array = np.asarray(value)
        return Array(array.shape, array.dtype if dtype is None else dtype, value=array)

    def numbers(self, vector: Array) -> list[int | Expr]:
        if vector.value is not None:
            return [whole(n) for n in vector.value]
        packed = vector.source.parts if isinstance(vector.source, Assembled) else ()
        if len(packed) != vector.count:
            return [vector[k] for k in range(vector.count)]
        parts = [part for _, part in sorted(packed, key=lambda p: p[0])]
        return [p[0] if p.value is None else whole(p.value[0]) for p in parts]

    def declared_shape(self) -> tuple[int, ...] | None:
        shape = None if self.node is None else self.node.outputs[0].shape
        return None if shape is None else shape.known_sizes

    def distance(self, low: Expr, high: Expr) -> int | None:
        (base, start), (other, end) = _base_and_offset(low), _base_and_offset(high)
        return end - start if base is other else None

    def unwritten(self, shape: Sequence[int], dtype: TypeLike) -> Array:
        return Array(shape, dtype, source=Temporary())

    def composed(self, rule: Callable[..., Sequence[Tensor]], *operands: Array) -> list[Array]:
        if self.specializer is None:
            raise Decline("a composition by itself")
        made: list[Array] = expanding.compose(self.specializer, rule, operands)
        return made

    def leaders(self, indices: Array) -> Array | None:
        return self.repeated.get(indices)

    def view(self, x: Array, shape: Sequence[int]) -> Array:
        wanted = tuple(map(whole, shape))
        if prod(wanted) != x.count:
            raise Decline(f"{list(wanted)} does not hold the elements of {list(x.shape)}")
        if wanted == x.shape:
            return x
        value = None if x.value is None else x.value.reshape(wanted)
        base = x.source.base if isinstance(x.source, ViewOf) else x
        if base.shape == wanted:
            return base
        return Array(wanted, x.dtype, value=value, source=ViewOf(base), name=x.name)

    def assemble(self, shape: Sequence[int], parts: Sequence[tuple[Sequence[int], Array]]) -> Array:
        blocks = tuple((tuple(map(whole, offset)), part) for offset, part in parts if part.count)
        for offset, part in blocks:
            for start, n, most in zip(offset, part.shape, shape):
                if start < 0 or start + n > most:
                    raise Decline("a part does not fit")
        return Array(shape, parts[0][1].dtype, source=Assembled(blocks))

    def assign(self, variable: Array, rule: Callable[..., object] | Array) -> Array:
        value = rule if isinstance(rule, Array) else self.compute(variable.shape, rule)
        if value.kind is not variable.kind:
            raise TypeError(f"a variable of {variable.kind} cannot become {value.kind}")
        self.updates.append(Update(variable, value))
        return value

    def scatter(
        self,
        kind: str,
        into: Array,
        extents: Sequence[int],
        place: Callable[..., ir.Index | tuple[ir.Index, ...]],
        value: Callable[..., Expr],
    ) -> Array:
        """A copy of `into`, changed at `place` for every index of the loops; equal places are
        changed in order (sums are rounded once)."""
        loops = tuple(Var(n) for n in extents)
        at = place(*map(var, loops))
        where = tuple(map(ir.index_expr, at if isinstance(at, tuple) else (at,)))
        if len(where) != len(into.shape):
            raise IndexError(f"{len(where)} indices for an array of shape {list(into.shape)}")
        made = value(*map(var, loops))
        if made.kind is not into.kind:
            raise TypeError(f"an array of {into.kind} cannot take {made.kind}")
        if kind in ("add", "sub"):
            return wide_sums.scattered(into, loops, where, made, ir.of_kind(kind, into.kind))
        how = "truncdiv" if kind == "div" and into.kind.is_integer else kind
        source = Scatter(into, loops, where, made, ir.of_kind(how, into.kind))
        return Array(into.shape, into.dtype, source=source)


def _unary(name: str) -> Callable[[Emitter, Expr], Expr]:
    def method(self: Emitter, x: Expr) -> Expr:
        return ir.unary(name, _float(x))

    method.__name__ = name
    return method


for _name in (
    "floor ceil trunc rint sqrt rsqrt exp expm1 log log1p sigmoid sin cos tan asin acos atan "
    "sinh cosh tanh asinh acosh atanh erf erfc lgamma"
).split():
    setattr(Emitter, _name, _unary(_name))


def _float(x: object) -> Expr:
    if not isinstance(x, Expr) or not x.kind.is_float:
        raise Decline(f"{x!r} is not a float expression")
    return x


def _loops(x: Expr) -> tuple[Var, ...]:
    return tuple(sorted((v for v in x.free if isinstance(v, Var)), key=lambda v: v.serial))


# -- ops -----------------------------------------------------------------------------------------
def lower(
    e: Emitter, op: Op, arguments: Sequence[Argument], attrs: Attrs, shapes: Sequence[tuple[int, ...]]
) -> list[Array]:
    """The outputs of one op.  `arguments` are arrays, or lists of them, as in the signature."""
    rule = op.lower_rule
    assert rule is not None
    chosen = {name: attrs[name] for name in wanted(rule, op.signature)}
    if ELEMENTWISE in op.traits:
        return _lower_elements(e, rule, arguments, chosen, shapes)
    return _flat(rule(e, *arguments, **chosen))


def _lower_elements(
    e: Emitter, rule: Rule, arguments: Sequence[Argument], attrs: Attrs, shapes: Sequence[tuple[int, ...]]
) -> list[Array]:
    """An element-wise rule: it gets scalars, broadcast by their indices, and answers with a formula
    of an element."""
    shape = shapes[0]
    require_broadcast(arguments, shape)
    loops = tuple(Var(n) for n in shape)
    index = tuple(map(var, loops))
    elements = [
        element(a, index) if isinstance(a, Array) else [element(x, index) for x in a] for a in arguments
    ]
    results = rule(e, *elements, **attrs)
    results = results if isinstance(results, (list, tuple)) else (results,)
    return [Array(shape, r.kind, source=Compute(loops, r)) for r in results]


def require_broadcast(arguments: Sequence[Operand | Sequence[Operand]], shape: tuple[int, ...]) -> None:
    """An operand that does not broadcast to the result would be read beyond its end."""
    for x in arguments:
        for operand in (x,) if isinstance(x, (Array, Planes)) else x:
            own = operand.shape
            if len(own) > len(shape) or any(n not in (1, m) for n, m in zip(own[::-1], shape[::-1])):
                raise Decline(f"{list(own)} does not broadcast to {list(shape)}")


def element(x: Array, index: tuple[Expr, ...]) -> Expr:
    """x at the output's index, broadcast."""
    if x.value is not None and x.value.ndim == 0 and x.value.item() in _PLAIN:
        return ir.const(x.value.item(), x.kind)
    skipped = len(index) - len(x.shape)
    return x[tuple(i if n != 1 else 0 for i, n in zip(index[skipped:], x.shape))]


def _flat(results: Any) -> list[Array]:  # what a rule of an op gives
    if isinstance(results, Array):
        return [results]
    found: list[Array] = []
    for r in results or ():
        found.extend(_flat(r))
    return found
