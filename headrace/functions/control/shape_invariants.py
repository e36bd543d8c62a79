"""Shape invariants of a loop: what holds of each loop variable's tensors in every iteration.

Not given, it is the shape at the start; of a sparse, ragged or sliced value, what its description
says, which leaves open how many entries there are.
"""

from __future__ import annotations

from typing import Any

from headrace.core.shapes import Shape
from headrace.functions.values import nest
from headrace.functions.values.tensor_spec import TensorSpec
from headrace.functions.values.type_spec import TypeSpec
from headrace.graph.tensor import Tensor


def flat_invariants(loop_vars: Any, given: Any) -> list[Shape]:
    """One shape for each tensor of the loop variables, composites taken apart."""
    if given is not None:
        nest.assert_same_structure(loop_vars, given, expand_composites=False)
    shapes = nest.flatten(given) if given is not None else [None] * len(nest.flatten(loop_vars))
    found: list[Any] = []
    for var, shape in zip(nest.flatten(loop_vars), shapes):
        found += _invariants(var, shape)
    if not all(isinstance(shape, Shape) for shape in found):
        raise ValueError("`shapes` must be a (possibly nested) list of shapes.")
    return found


def _invariants(var: Any, shape: Any) -> list[Any]:
    if nest.is_composite(var):
        spec = var._type_spec if shape is None else _described(var, shape)
        return [part.shape for part in nest.flatten(spec, expand_composites=True)]
    if shape is None:
        return [var.shape]
    if isinstance(shape, TypeSpec):
        if not isinstance(shape, TensorSpec) or var.dtype.base is not shape.dtype.base:
            kind = "TensorSpec" if isinstance(shape, TensorSpec) else "TypeSpec"
            raise TypeError(f"{kind} {shape!r} is not compatible with {var!r}")
        return [shape.shape]
    return [shape]


def _described(var: Any, shape: Any) -> TypeSpec:
    """The description of a composite that a shape stands for."""
    if isinstance(shape, TypeSpec):
        if not shape.is_compatible_with(var):
            raise TypeError(f"TypeSpec {shape!r} is not compatible with {var!r}")
        return shape
    if not isinstance(shape, Shape):
        raise TypeError(f"Expected shape to be a TypeSpec or TensorShape, got {shape!r}")
    try:
        spec: TypeSpec = var._shape_invariant_to_type_spec(shape)
    except NotImplementedError:
        raise TypeError(
            f"To describe or constrain a {type(var).__name__}, use a "
            f"{type(var._type_spec).__name__} instead of a TensorShape."
        ) from None
    return spec


def at_most(special: Shape, general: Shape) -> bool:
    """Does `general` hold for everything that `special` holds for?"""
    if general.rank is None:
        return True
    if special.rank != general.rank:
        return False
    return all(g is None or g == s for g, s in zip(general.sizes, special.sizes))


def set_invariant(source: Tensor, enter: Tensor, shape: Shape) -> None:
    """`source` enters the loop as `enter`, which has the shape of every iteration."""
    if not at_most(source.shape, shape):
        raise ValueError(
            f"The shape invariant of {source.name}, {shape}, is not compatible with the shape with "
            f"which it enters the loop, {source.shape}."
        )
    enter._shape = shape


def check_invariant(merge: Tensor, following: Tensor) -> None:
    """The value for the next iteration keeps the invariant."""
    if at_most(following.shape, merge.shape):
        return
    source = merge.op.inputs[0].op.inputs[0]
    raise ValueError(
        f"Input tensor '{source.name}' enters the loop with shape {source.shape}, but has shape "
        f"{following.shape} after one iteration. To allow the shape to vary across iterations, use "
        "the `shape_invariants` argument of tf.while_loop to specify a less-specific shape."
    )
