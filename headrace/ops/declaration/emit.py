"""What a compiled rule may use.  An op's block writes against these interfaces; codegen
implements them.

**Element-wise ops** (trait ELEMENTWISE): the rule is about one element.  Each argument is the
value at the output's index, broadcast already applied (a list for `N*T`); the result is one
`Expr` per output.

    @softplus.lower
    def _(e, x):
        return e.max(x, 0) + e.log1p(e.exp(-e.abs(x)))

**Every other op**: arguments are operands with concrete shapes; the result is one operand per
output. A stage is a loop over its shape; several stages are several `compute`s, which codegen
fuses.

    @softmax.lower
    def _(e, logits):
        *rows, n = logits.shape
        top = e.compute(rows, lambda *i: e.reduce("max", n, lambda j: logits[(*i, j)]))
        up = e.compute(logits.shape, lambda *i: e.exp(logits[i] - top[i[:-1]]))
        total = e.compute(rows, lambda *i: e.reduce("sum", n, lambda j: up[(*i, j)]))
        return e.compute(logits.shape, lambda *i: up[i] / total[i[:-1]])

An argument that must be known to decide the shape (`axis`, `perm`, `paddings`) has `.value`, an
array; where it has none the op cannot be compiled, and a rule that needs it says `raise
Decline("why")`.

**Updates of variables**: `e.assign(variable, rule)` gives the variable's new value, as an
operand; reading `variable[i]` means the old one.  The rule returns the new value where the op has
an output for it.

    @apply_momentum.lower
    def _(e, var, accum, lr, grad, momentum, *, use_nesterov):
        moved = e.assign(accum, lambda *i: accum[i] * momentum[()] + grad[i])
        ahead = lambda i: grad[i] + moved[i] * momentum[()] if use_nesterov else moved[i]
        return e.assign(var, lambda *i: var[i] - lr[()] * ahead(i))

**Library calls** describe the call; fusion may extend it, and a library that lacks it declines.
A view puts the dimensions in the library's order: matrices as (m, k) and (k, n), images as
(batch, channels, space...), filters as (out, in, space...), with a leading dimension of groups
where there are groups.

    @matmul.library("onednn")
    def _(a, b, out, *, transpose_a, transpose_b):
        return LibraryCall("matmul", src=transposed(a, transpose_a),
                           weights=transposed(b, transpose_b), dst=view(out))

    @conv2d.library("onednn")          # NHWC; strides, dilations, pads per spatial dimension
    def _(x, filters, out, *, strides, padding, ...):
        return LibraryCall(
            "convolution", src=view(x, (0, 3, 1, 2)), weights=view(filters, (3, 2, 0, 1)),
            dst=view(out, (0, 3, 1, 2)), strides=..., dilations=...,
            pads=((top, bottom), (left, right)),
        )

`convolution_data` and `convolution_weights` are its gradients: the same options, `src` or
`weights` is what they write.  The attributes that a rule names as keyword arguments are passed to
it, as to the reference.  Rules are written independently of the reference: they check each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from math import prod
from typing import Any, Protocol, TypeAlias

import numpy as np

from headrace.core.dtypes import DType
from headrace.core.records import record


class Decline(Exception):
    """Raised by a rule that cannot compile this use of its op; the reference runs instead."""


class Expr(Protocol):
    """A scalar at one index.  A Python number beside an Expr takes that Expr's type.

    Arithmetic keeps the type (both sides must have the same); integers wrap around; of bools `+` is
    or, `*` is and, and there is no `-`.  `/` is for floats; `//` and `%` round towards minus infinity
    (`e.truncate_div`, `e.truncate_mod` towards zero), with result 0 for an integer divisor 0.
    Comparisons give bool; `& | ^ ~` are logical on bool and bitwise on integers; `<< >>` are for
    integers, the count limited to [0, bits - 1].
    """

    @property
    def dtype(self) -> DType: ...
    def __add__(self, other: Number) -> Expr: ...
    def __sub__(self, other: Number) -> Expr: ...
    def __mul__(self, other: Number) -> Expr: ...
    def __truediv__(self, other: Number) -> Expr: ...
    def __floordiv__(self, other: Number) -> Expr: ...
    def __mod__(self, other: Number) -> Expr: ...
    def __neg__(self) -> Expr: ...
    def __and__(self, other: Number) -> Expr: ...
    def __or__(self, other: Number) -> Expr: ...
    def __xor__(self, other: Number) -> Expr: ...
    def __invert__(self) -> Expr: ...
    def __lshift__(self, other: Number) -> Expr: ...
    def __rshift__(self, other: Number) -> Expr: ...
    def __lt__(self, other: Number) -> Expr: ...
    def __le__(self, other: Number) -> Expr: ...
    def __gt__(self, other: Number) -> Expr: ...
    def __ge__(self, other: Number) -> Expr: ...
    def __eq__(self, other: Any) -> Any: ...
    def __ne__(self, other: Any) -> Any: ...


Number: TypeAlias = Expr | int | float | bool
Index: TypeAlias = Expr | int


class Operand(Protocol):
    """An array: an input of the op, or the result of an earlier stage.  Reading outside its shape
    is safe and gives 0, so a pad may read first and select afterwards."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> DType: ...
    @property
    def value(self) -> np.ndarray[Any, Any] | None:
        """The numbers, where they are known when the program is made."""

    def __getitem__(self, index: tuple[Index, ...] | Index) -> Expr: ...


class Emitter(Protocol):
    """The vocabulary of rules.  Unary functions take a float Expr unless their line says
    otherwise."""

    # -- one element -------------------------------------------------------------------------
    def const(self, value: complex | bool, dtype: DType) -> Expr: ...
    def size(self, n: int, dtype: DType) -> Expr:
        """A number that follows from shapes.  Unlike `const` it is not built into the kernel."""

    def cast(self, x: Expr, dtype: DType) -> Expr:
        """TF's Cast: float to integer truncates, NaN and what does not fit give the lowest signed
        number; any number to bool means `!= 0`."""

    def bitcast(self, x: Expr, dtype: DType) -> Expr: ...
    def select(self, condition: Expr, x: Number, y: Number) -> Expr: ...
    def is_nan(self, x: Expr) -> Expr: ...
    def is_inf(self, x: Expr) -> Expr: ...
    def is_finite(self, x: Expr) -> Expr: ...
    def max(self, x: Number, y: Number) -> Expr:
        """The larger; NaN if either is NaN, as np.maximum.  Any type."""

    def min(self, x: Number, y: Number) -> Expr: ...
    def complex(self, real: Expr, imag: Expr) -> Expr: ...
    def real(self, x: Expr) -> Expr: ...  # complex numbers
    def imag(self, x: Expr) -> Expr: ...
    def angle(self, x: Expr) -> Expr: ...
    def conj(self, x: Expr) -> Expr: ...  # any number
    def abs(self, x: Expr) -> Expr: ...  # any number; of a complex one the magnitude
    def sign(self, x: Expr) -> Expr: ...  # any number; NaN stays NaN
    def floor(self, x: Expr) -> Expr: ...
    def ceil(self, x: Expr) -> Expr: ...
    def trunc(self, x: Expr) -> Expr: ...
    def rint(self, x: Expr) -> Expr: ...  # halves to even
    def round(self, x: Expr) -> Expr: ...  # the same: TF rounds halves to even
    def truncate_div(self, x: Expr, y: Number) -> Expr: ...  # integers
    def truncate_mod(self, x: Expr, y: Number) -> Expr: ...  # any number; sign of x
    def sqrt(self, x: Expr) -> Expr: ...
    def rsqrt(self, x: Expr) -> Expr: ...
    def exp(self, x: Expr) -> Expr: ...
    def expm1(self, x: Expr) -> Expr: ...
    def log(self, x: Expr) -> Expr: ...
    def log1p(self, x: Expr) -> Expr: ...
    def pow(self, x: Expr, y: Number) -> Expr: ...
    def sigmoid(self, x: Expr) -> Expr: ...
    def sin(self, x: Expr) -> Expr: ...
    def cos(self, x: Expr) -> Expr: ...
    def tan(self, x: Expr) -> Expr: ...
    def asin(self, x: Expr) -> Expr: ...
    def acos(self, x: Expr) -> Expr: ...
    def atan(self, x: Expr) -> Expr: ...
    def atan2(self, y: Expr, x: Expr) -> Expr: ...
    def sinh(self, x: Expr) -> Expr: ...
    def cosh(self, x: Expr) -> Expr: ...
    def tanh(self, x: Expr) -> Expr: ...
    def asinh(self, x: Expr) -> Expr: ...
    def acosh(self, x: Expr) -> Expr: ...
    def atanh(self, x: Expr) -> Expr: ...
    def erf(self, x: Expr) -> Expr: ...
    def erfc(self, x: Expr) -> Expr: ...
    def lgamma(self, x: Expr) -> Expr: ...

    def require(self, condition: Expr, message: str) -> None:
        """The step fails with InvalidArgumentError(message) where the condition is false.  `{at}`
        in the message becomes the index as `[1,2]`."""

    # -- whole operands ----------------------------------------------------------------------
    def compute(self, shape: Sequence[int], rule: Callable[..., Any]) -> Operand:
        """The operand whose element at (i, j, ...) is rule(i, j, ...)."""

    def reduce(self, kind: str, extents: int | Sequence[int], rule: Callable[..., Any]) -> Expr:
        """Inside a stage: rule(r, s, ...) over all r, s, ... below the extents.  kind: sum, prod,
        max, min, any, all; argmax and argmin give the first best place as int64 (one extent; NaN
        is never best, and 0 is the place where nothing is)."""

    def checked(self, index: Expr, extent: int, message: str) -> Expr:
        """The index, known to be in [0, extent) from here on; else the step fails with
        InvalidArgumentError.  The message may hold {at}, {value} and {extent}."""

    def known(self, value: Any) -> Operand:
        """A constant: what follows from shapes alone, such as the shape itself."""

    def numbers(self, vector: Operand) -> list[Any]:
        """The elements of a vector: an int where it is known, else an expression."""

    def declared_shape(self) -> tuple[int, ...] | None:
        """The shape of the node's first output, as far as the graph says it: None if not wholly."""

    def distance(self, low: Expr, high: Expr) -> int | None:
        """high - low, where both are elements of `numbers` that differ by something known."""

    def unwritten(self, shape: Sequence[int], dtype: DType) -> Operand:
        """Memory to scatter into.  Only what was scattered there may be read."""

    def composed(self, rule: Callable[..., Any], *operands: Operand) -> list[Operand]:
        """The outputs as a graph of other ops: rule(build, *tensors) gives tensors, as a gradient
        does.  `build` is a `Build`; few known numbers are constants to the rule."""

    def leaders(self, indices: Operand) -> Operand | None:
        """Where indices may be equal and their values were added up: for every index, the place
        that holds the sum.  None for all other indices."""

    def view(self, x: Operand, shape: Sequence[int]) -> Operand:
        """The same elements in the same order under another shape."""

    def assemble(self, shape: Sequence[int], parts: Sequence[tuple[Sequence[int], Operand]]) -> Operand:
        """An operand made of blocks: each part stands at its offset; together they fill the
        shape."""

    def assign(self, variable: Operand, rule: Callable[..., Any] | Operand) -> Operand:
        """Give the variable a new value, rule(i, j, ...) at each index of its shape (or an operand
        that holds it, such as a scatter into the variable); returns it."""

    def scatter(
        self,
        kind: str,
        into: Operand,
        extents: Sequence[int],
        place: Callable[..., Any],
        value: Callable[..., Any],
    ) -> Operand:
        """For every r, s, ... below the extents, in order: into[place(r, s, ...)] = value (kind
        "set"), += ("add"), -= ("sub"), *= ("mul"), /= ("div", of integers towards zero), max or
        min.  `into` is a variable or the result of a stage.  Returns the whole; `assign` it, if a
        variable is to keep it."""


class Build(Protocol):
    """What a composition (`Emitter.composed`) has beside the ops themselves."""

    def scan(
        self,
        step: Callable[..., Any],
        starts: Sequence[Any],
        rows: Sequence[Any],
        count: Any,
        backwards: bool = False,
    ) -> tuple[list[Any], list[Any]]:
        """`step(carried, rows at t)` gives (carried, results), for every t below `count`, from the
        last one if `backwards`.  What is carried at the end, and the results of all t, with zeros
        from `count` on."""


@record
class View:
    """An operand with its dimensions in another order; `sizes` are those dimensions, where the
    operand is seen under another shape, and `moves` the steps along them, where it is seen in part."""

    operand: Any
    order: tuple[int, ...]
    sizes: tuple[int, ...] | None = None
    moves: tuple[int, ...] | None = None

    @property
    def whole(self) -> tuple[int, ...]:
        """The dimensions in the order of memory."""
        found: tuple[int, ...] = self.operand.shape if self.sizes is None else self.sizes
        return found

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.whole[axis] for axis in self.order)

    @property
    def steps(self) -> tuple[int, ...]:
        """Elements of memory from one index to the next, per dimension of `whole`."""
        if self.moves is not None:
            return self.moves
        return tuple(prod(self.whole[axis + 1 :]) for axis in range(len(self.whole)))

    @property
    def dtype(self) -> DType:
        found: DType = self.operand.dtype
        return found


def view(x: Operand, order: Sequence[int] | None = None, sizes: Sequence[int] | None = None) -> View:
    """The operand (under the shape `sizes`), its dimensions in this order."""
    whole = None if sizes is None else tuple(sizes)
    return View(x, tuple(range(len(x.shape))) if order is None else tuple(order), whole)


def transposed(x: Operand, yes: bool, rank: int | None = None) -> View:
    """The operand, its two last dimensions exchanged if `yes`; with dimensions of 1 before the first
    where it has less than `rank`."""
    missing = 0 if rank is None else rank - len(x.shape)
    *lead, rows, columns = range(missing + len(x.shape))
    order = (*lead, columns, rows) if yes else (*lead, rows, columns)
    return View(x, order, (*(1,) * missing, *x.shape) if missing else None)


@record
class LibraryCall:
    """One call of a library: what to do, on which views, how."""

    kind: str
    views: dict[str, View] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)

    def __init__(self, kind: str, **arguments: Any) -> None:
        views = {k: v for k, v in arguments.items() if isinstance(v, View)}
        options = {k: v for k, v in arguments.items() if k not in views}
        for name, given in (("kind", kind), ("views", views), ("options", options)):
            object.__setattr__(self, name, given)
