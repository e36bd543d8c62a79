"""Families: an ordinary op in a few lines.

exp = unary("Exp", np.exp, T=FLOATS_AND_COMPLEX, emit="exp", doc="e raised to x.",
            gradient=lambda node, dy: dy * node.outputs[0], samples=normal(3, 4))
add = binary("AddV2", np.add, T=..., emit=lambda e, x, y: x + y, gradient=..., samples=...)
less = compare("Less", np.less, T=REALS, emit=lambda e, x, y: x < y)
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from headrace.core.dtypes import COMPLEX, FLOATS
from headrace.core.errors import InvalidArgumentError, require
from headrace.core.shapes import Shape, show
from headrace.ops.declaration.declare import Op, op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import merge
from headrace.ops.declaration.shape_rules import Input, broadcast, same
from headrace.ops.declaration.traits import ELEMENTWISE, Trait

INEXACT = (*FLOATS, *COMPLEX)


def unary(name: str, meaning: Callable[..., Any], *, signature: str = "x: T -> y: T", **options: Any) -> Op:
    """An element-wise op of one input.

    Args:
      name, signature: as `op` takes them.
      meaning: of arrays; what it warns of is silent.
      options: `doc`, and where there are such `emit` (a compiled rule, or the name of the emitter's),
        `gradient`, `samples`, `traits`, `shape`; the other ones are attributes.
    """
    return _declared(name, meaning, signature, **{"shape": same} | options)


def function(
    name: str,
    meaning: Callable[..., Any],
    doc: str,
    gradient: Callable[..., Any],
    samples: Callable[..., Any] | None = None,
    T: Any = INEXACT,
) -> Op:
    """An element-wise function of real and complex numbers, which compiled code has by the op's name."""
    samples = samples or normal(3, 4)
    return unary(name, meaning, doc=doc, T=T, emit=name.lower(), gradient=gradient, samples=samples)


def binary(
    name: str, meaning: Callable[..., Any], *, signature: str = "x: T, y: T -> z: T", **options: Any
) -> Op:
    """An element-wise op of two inputs that broadcast; the options are those of `unary`."""

    def broadcasting(x: Any, y: Any) -> Any:
        require_broadcast(x.shape, y.shape)
        return meaning(x, y)

    return _declared(name, broadcasting, signature, **{"shape": broadcast} | options)


def of_output(
    name: str, meaning: Callable[..., Any], *, emit: Callable[..., Any], zero: bool = False, **options: Any
) -> Op:
    """An op that gives another op's gradient from its output y and the gradient dy of that, which have
    one shape.  `zero`: where dy is 0 so is the result, although the slope may be infinite."""

    def of_one_shape(y: Any, dy: Any) -> Any:
        require_same_shape(y, dy)
        return np.where(dy == 0, np.zeros((), y.dtype), meaning(y, dy)) if zero else meaning(y, dy)

    def lowered(e: Any, y: Any, dy: Any) -> Any:
        return e.select(dy == 0, 0, emit(e, y, dy)) if zero else emit(e, y, dy)

    given: dict[str, Any] = {"signature": "y: T, dy: T -> z: T", "shape": paired}
    return _declared(name, of_one_shape, emit=lowered, **given | options)


def paired(x: Input, y: Input) -> Shape:
    """Both inputs have one shape."""
    return merge(x, y)


def require_same_shape(x: Any, y: Any) -> None:
    """What TF asks of element-wise ops that do not broadcast."""
    require(
        x.shape == y.shape,
        f"Inputs to operation must have the same size and shape.  Input 0: {show(x.shape)} != input "
        f"1: {show(y.shape)}",
    )


def compare(name: str, meaning: Callable[..., Any], **options: Any) -> Op:
    """An element-wise comparison: no gradient."""
    declared = binary(name, meaning, **{"signature": "x: T, y: T -> z: bool"} | options)
    declared.no_gradient()
    return declared


def require_broadcast(*shapes: tuple[int, ...]) -> None:
    """Refuse shapes that do not broadcast, in TF's words."""
    if shapes.count(shapes[0]) == len(shapes) or (() in shapes and len(shapes) == 2):
        return
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        shown = " vs. ".join(map(show, shapes))
        raise InvalidArgumentError(None, None, f"Incompatible shapes: {shown}") from None


def _declared(
    name: str,
    meaning: Callable[..., Any],
    signature: str,
    shape: Callable[..., Any],
    doc: str,
    emit: Any = None,
    gradient: Callable[..., Any] | None = None,
    samples: Callable[..., Any] | None = None,
    traits: Iterable[Trait] = (),
    **attrs: Any,
) -> Op:
    def reference(*inputs: Any) -> Any:
        with np.errstate(all="ignore"):
            return meaning(*inputs)

    reference.__doc__, reference.__module__ = doc, _declaring_module()
    declared = op(name, signature, shape=shape, traits={ELEMENTWISE, *traits}, attrs=attrs)(reference)
    if gradient is not None:
        declared.gradient(gradient)
    if emit is not None:
        declared.lower((lambda e, *x: getattr(e, emit)(*x)) if isinstance(emit, str) else emit)
    if samples is not None:
        declared.samples(samples)
    return declared


def _declaring_module() -> str:
    """The module whose block calls a family."""
    frame = sys._getframe(1)
    while frame.f_globals["__name__"] == __name__ and frame.f_back is not None:
        frame = frame.f_back
    return str(frame.f_globals["__name__"])


def normal(*shape: int) -> Callable[..., Any]:
    """Samples: one normal array, one empty, one scalar, and the values where floats end."""

    def samples(rng: Any) -> Any:
        yield Sample(rng.normal(size=shape))
        yield Sample(np.zeros((0, 3)), note="empty")
        yield Sample(np.array(0.5), note="scalar")
        yield Sample(np.array([np.nan, np.inf, -np.inf, -0.0, 1e-310]), note="edges", grad=False)

    return samples


def positive(*shape: int) -> Callable[..., Any]:
    """Samples for ops that are defined above zero."""

    def samples(rng: Any) -> Any:
        yield Sample(rng.uniform(0.5, 3, size=shape))
        yield Sample(np.zeros((0, 3)), note="empty")
        yield Sample(np.array([np.nan, np.inf, -1.0, 0.0]), note="edges", grad=False)

    return samples


def pairs(low: float = -2.0, high: float = 2.0) -> Callable[..., Any]:
    """Samples of two inputs: equal shapes, broadcasting both ways, scalars, empty; a misfit."""

    def samples(rng: Any) -> Any:
        for a, b in (((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((), (2,)), ((0, 3), (3,))):
            yield Sample(rng.uniform(low, high, size=a), rng.uniform(low, high, size=b))
        yield ErrorSample(np.ones((2, 3)), np.ones(4), raises="must be equal|Incompatible shapes")

    return samples


def positive_pairs(x: Any, y: Any, note: str) -> Callable[..., Any]:
    """Samples of two inputs above zero, and one of the values x and y that are special."""

    def samples(rng: Any) -> Any:
        yield from pairs(0.5, 2.0)(rng)
        yield Sample(x, y, note=note, grad=False)

    return samples
