"""The emitter for ops on complex numbers: rules are those of the ops' own blocks.

In: a rule that was written against ops.declaration.emit.  Out: the same as from `lower`, with
`Planes` where an array is complex.  What a rule asks for and complex numbers do not have is declined.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from headrace.codegen.convolution import library
from headrace.codegen.ir import complex_numbers
from headrace.codegen.ir import kernel_ir as ir
from headrace.codegen.ir.complex_numbers import Complex, Element, Operand, Planes, is_complex, part_type
from headrace.codegen.ir.kernel_ir import Array, Compute, Expr, Index, Scalar, TypeLike, Var, var
from headrace.codegen.ir.stages import Called, Update
from headrace.codegen.lowering import complex_functions as functions
from headrace.codegen.lowering import deep_products, fallback
from headrace.codegen.lowering import lower as real
from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.ops.declaration.declare import Op, wanted
from headrace.ops.declaration.emit import Decline, LibraryCall
from headrace.ops.declaration.traits import ELEMENTWISE

Argument = Operand | Sequence[Operand]  # of an op: a list where its signature says so


class ComplexEmitter(functions.Functions):
    """The Emitter of ops.declaration.emit for numbers of both kinds; what it does not say itself, the
    real one does."""

    def __init__(self, emitter: real.Emitter) -> None:
        self.real_emitter = emitter

    def __getattr__(self, name: str) -> Any:  # a method of the real one, whichever
        method = getattr(self.real_emitter, name)

        def of_real_numbers(*args: object) -> object:
            if any(isinstance(x, (Complex, Planes)) for x in args):
                raise Decline(f"{name} of complex numbers")
            return method(*args)

        return of_real_numbers

    # -- one element -------------------------------------------------------------------------
    def const(self, value: complex, dtype: DType) -> Element:
        if not is_complex(dtype):
            if isinstance(value, complex):
                raise Decline("a complex constant among real numbers")
            return self.real_emitter.const(value, dtype)
        number, part = complex(value), part_type(dtype)
        return Complex(*(self.real_emitter.const(p, part) for p in (number.real, number.imag)))

    def size(self, n: int, dtype: DType) -> Expr:
        return self.real_emitter.size(n, part_type(dtype) if is_complex(dtype) else dtype)

    def cast(self, x: Element, dtype: DType) -> Element:
        re, im = (x.re, x.im) if isinstance(x, Complex) else (x, None)
        if not is_complex(dtype):
            return self.real_emitter.cast(re, dtype)
        part = ir.kind_of(part_type(dtype))
        imaginary = ir.const(0, part) if im is None else ir.cast(im, part)
        return Complex(ir.cast(re, part), imaginary)

    def complex(self, re: Expr, im: Expr) -> Complex:
        return Complex(re, im)

    def select(self, condition: Expr, x: Complex | Scalar, y: Complex | Scalar) -> Element:
        if isinstance(x, Complex):
            a, b = x, x.of(y)
        elif isinstance(y, Complex):
            a, b = y.of(x), y
        else:
            return ir.select(condition, x, y)
        return Complex(ir.select(condition, a.re, b.re), ir.select(condition, a.im, b.im))

    # -- whole operands ----------------------------------------------------------------------
    def compute(self, shape: Sequence[int], rule: Callable[..., Element]) -> Operand:
        loops = tuple(Var(n) for n in shape)
        return _stage(shape, loops, rule(*map(var, loops)))

    def reduce(self, kind: str, extents: int | Sequence[int], rule: Callable[..., Element]) -> Element:
        loops = tuple(Var(n) for n in (extents if isinstance(extents, Sequence) else (extents,)))
        body = rule(*map(var, loops))
        if isinstance(body, Complex):
            if kind != "sum":
                raise Decline(f"{kind} of complex numbers")
            return Complex(*(ir.make("reduce", (p,), p.kind, (kind, loops)) for p in (body.re, body.im)))
        result = ir.I64 if kind in ("argmax", "argmin") else body.kind
        return ir.make("reduce", (body,), result, (ir.of_kind(kind, body.kind), loops))

    def known(self, value: ArrayLike, dtype: TypeLike | None = None) -> Operand:
        array = np.asarray(value)
        if array.dtype.kind != "c":
            return self.real_emitter.known(array, dtype)
        return complex_numbers.known(array, dtypes.as_dtype(array.dtype))

    def unwritten(self, shape: Sequence[int], dtype: DType) -> Operand:
        if not is_complex(dtype):
            return self.real_emitter.unwritten(shape, dtype)
        part = part_type(dtype)
        return Planes(self.real_emitter.unwritten(shape, part), self.real_emitter.unwritten(shape, part))

    def view(self, x: Operand, shape: Sequence[int]) -> Operand:
        view = self.real_emitter.view
        return Planes(view(x.re, shape), view(x.im, shape)) if isinstance(x, Planes) else view(x, shape)

    def assemble(self, shape: Sequence[int], parts: Sequence[tuple[Sequence[int], Operand]]) -> Operand:
        assemble = self.real_emitter.assemble
        real_parts = [(at, x) for at, x in parts if isinstance(x, Array)]
        both = [(at, x) for at, x in parts if isinstance(x, Planes)]
        if real_parts and both:
            raise Decline("an array of real and of complex parts")
        if not both:
            return assemble(shape, real_parts)
        return Planes(
            assemble(shape, [(at, x.re) for at, x in both]), assemble(shape, [(at, x.im) for at, x in both])
        )

    def assign(self, variable: Operand, rule: Callable[..., Element] | Operand) -> Operand:
        if not isinstance(variable, Planes) and not isinstance(rule, Planes):
            return self.real_emitter.assign(variable, rule)
        value = rule if isinstance(rule, (Array, Planes)) else self.compute(variable.shape, rule)
        if (
            not (isinstance(variable, Planes) and isinstance(value, Planes))
            or value.dtype is not variable.dtype
        ):
            raise TypeError(f"a variable of {variable.dtype} cannot become {value!r}")
        self.real_emitter.updates.append(Update(variable.whole, value.whole))
        return value

    def scatter(
        self,
        kind: str,
        into: Operand,
        extents: Sequence[int],
        place: Callable[..., Index | tuple[Index, ...]],
        value: Callable[..., Any],  # Expr or Complex, as the array is
    ) -> Operand:
        """Part by part, which is right for what acts on the parts alone."""
        scatter = self.real_emitter.scatter
        if not isinstance(into, Planes):
            return scatter(kind, into, extents, place, value)
        if kind not in ("set", "add", "sub"):
            raise Decline(f"a scatter that {kind}s complex numbers")
        return Planes(
            scatter(kind, into.re, extents, place, lambda *i: value(*i).re),
            scatter(kind, into.im, extents, place, lambda *i: value(*i).im),
        )


def _stage(shape: Sequence[int], loops: tuple[Var, ...], body: object) -> Operand:
    if isinstance(body, Complex):
        re, im = (Array(shape, p.kind, source=Compute(loops, p)) for p in (body.re, body.im))
        return Planes(re, im)
    if not isinstance(body, Expr):
        raise TypeError(f"a stage must compute an expression, not {body!r}")
    body = ir.cast(body, ir.I64) if body.kind is ir.INDEX else body
    return Array(shape, body.kind, source=Compute(loops, body))


# -- ops -----------------------------------------------------------------------------------------
def lower(
    emitter: real.Emitter,
    op: Op,
    arguments: Sequence[Argument],
    attrs: real.Attrs,
    shapes: Sequence[tuple[int, ...]],
) -> list[Operand]:
    """The outputs of one op, some of whose operands or results are complex."""
    rule = op.lower_rule
    assert rule is not None
    e = ComplexEmitter(emitter)
    chosen = {name: attrs[name] for name in wanted(rule, op.signature)}
    try:
        if ELEMENTWISE not in op.traits:
            return _flat(rule(e, *arguments, **chosen))
        return _lower_elements(e, rule, arguments, chosen, shapes[0])
    except ir.NotScalar as error:  # the rule compares, or calls what is for real numbers alone
        raise Decline("its rule is one for real numbers") from error


def _lower_elements(
    e: ComplexEmitter,
    rule: real.Rule,
    arguments: Sequence[Argument],
    attrs: real.Attrs,
    shape: tuple[int, ...],
) -> list[Operand]:
    """An element-wise rule over complex operands: it computes with pairs of expressions, which
    become two planes."""
    real.require_broadcast(arguments, shape)
    loops = tuple(Var(n) for n in shape)
    index = tuple(map(var, loops))
    elements = [
        _element(a, index) if isinstance(a, (Array, Planes)) else [_element(x, index) for x in a]
        for a in arguments
    ]
    results = rule(e, *elements, **attrs)
    results = results if isinstance(results, (list, tuple)) else (results,)
    return [_stage(shape, loops, r) for r in results]


def _element(x: Operand, index: tuple[Expr, ...]) -> Element:
    if not isinstance(x, Planes):
        return real.element(x, index)
    return Complex(real.element(x.re, index), real.element(x.im, index))


def _flat(results: Any) -> list[Operand]:  # what a rule of an op gives
    if isinstance(results, (Array, Planes)):
        return [results]
    return [x for r in results or () for x in _flat(r)]


def product(
    emitter: real.Emitter, op: Op, arguments: Sequence[Argument], attrs: real.Attrs, shape: tuple[int, ...]
) -> Planes:
    """A matrix product as four real ones; `adj_x` and `adj_y` conjugate."""
    operands = [a for a in arguments if isinstance(a, Planes)]
    if len(arguments) != 2 or len(operands) != 2:
        raise Decline("no library does this with complex numbers")

    def conjugate(a: Planes) -> Planes:
        return Planes(a.re, emitter.compute(a.shape, lambda *i: -a.im[i]))

    x, y = (conjugate(a) if attrs.get(name) else a for a, name in zip(operands, ("adj_x", "adj_y")))

    def times(a: Array, b: Array) -> Array:
        out = Array(shape, a.dtype)
        for rule in op.library_rules.values():
            call = rule(a, b, out, **{name: attrs[name] for name in wanted(rule, op.signature)})
            if not isinstance(call, LibraryCall):
                continue
            if library.choose(call) is None:
                return fallback.lower(emitter, call)
            out.source = deep_products.split(call) or Called(call, (a, b))
            return out
        raise Decline("no library does this with complex numbers")

    both, cross = (times(x.re, y.re), times(x.im, y.im)), (times(x.re, y.im), times(x.im, y.re))
    return Planes(
        emitter.compute(shape, lambda *i: both[0][i] - both[1][i]),
        emitter.compute(shape, lambda *i: cross[0][i] + cross[1][i]),
    )
