"""InputSpec: what a layer expects of an input, and the check."""

from __future__ import annotations

from typing import Any

from headrace.core.dtypes import DTypeLike, as_dtype
from headrace.core.shapes import as_shape
from headrace.functions.values.nest import flatten


class InputSpec:
    """Type, rank and sizes that a layer expects of one of its inputs.

    Args:
      dtype: element type.
      shape: sizes, None where any is welcome.
      ndim: rank.
      max_ndim: greatest rank.
      min_ndim: least rank.
      axes: dictionary from an axis to the size it must have.
    """

    def __init__(
        self,
        dtype: DTypeLike | None = None,
        shape: Any = None,
        ndim: int | None = None,
        max_ndim: int | None = None,
        min_ndim: int | None = None,
        axes: Any = None,
    ) -> None:
        self.dtype = None if dtype is None else as_dtype(dtype).name
        self.shape = shape
        self.ndim = ndim if shape is None else len(shape)
        self.max_ndim, self.min_ndim = max_ndim, min_ndim
        try:
            self.axes = {int(axis): size for axis, size in (axes or {}).items()}
        except (ValueError, TypeError):
            raise TypeError("The keys in axes must be integers.") from None
        limit = self.ndim or self.max_ndim
        if self.axes and limit is not None and max(self.axes) > limit - 1:
            raise ValueError(f"Axis {max(self.axes)} is greater than the maximum allowed value: {limit - 1}")

    def __repr__(self) -> str:
        shown = (f"{key}={value}" for key, value in self.get_config().items() if value)
        return f"InputSpec({', '.join(shown)})"

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal one."""
        return {
            "dtype": self.dtype,
            "shape": self.shape,
            "ndim": self.ndim,
            "max_ndim": self.max_ndim,
            "min_ndim": self.min_ndim,
            "axes": self.axes,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> InputSpec:
        return cls(**config)


def check_inputs(specs: Any, inputs: Any, layer: str) -> None:
    """Refuse inputs that are not what the layer of this name expects."""
    if not specs:
        return
    tensors, wanted = flatten(inputs), flatten(specs)
    if len(tensors) != len(wanted):
        raise ValueError(
            f"Layer {layer} expects {len(wanted)} inputs, but it received {len(tensors)} input "
            f"tensors. Inputs received: {tensors}"
        )
    for index, (tensor, spec) in enumerate(zip(tensors, wanted, strict=True)):
        if spec is not None:
            fault = _fault(tensor, spec)
            if fault:
                raise ValueError(f"Input {index} of layer {layer} is incompatible with the layer: {fault}")


def _fault(x: Any, spec: InputSpec) -> str | None:
    """What is wrong with `x`, if anything."""
    shape = as_shape(x.shape)
    rank = shape.ndims
    if rank is None:
        if (spec.ndim, spec.min_ndim, spec.max_ndim) == (None, None, None):
            return _type_fault(x, spec)
        return "its rank is undefined, but the layer requires a defined rank."
    full = f". Full shape received: {shape.as_list()}"
    if spec.ndim is not None and rank != spec.ndim:
        return f"expected ndim={spec.ndim}, found ndim={rank}{full}"
    if spec.max_ndim is not None and rank > spec.max_ndim:
        return f"expected max_ndim={spec.max_ndim}, found ndim={rank}"
    if spec.min_ndim is not None and rank < spec.min_ndim:
        return f": expected min_ndim={spec.min_ndim}, found ndim={rank}{full}"
    return _type_fault(x, spec) or _size_fault(shape.as_list(), spec)


def _type_fault(x: Any, spec: InputSpec) -> str | None:
    if spec.dtype is None or x.dtype == spec.dtype:
        return None
    return f"expected dtype={spec.dtype}, found dtype={x.dtype}"


def _size_fault(sizes: list[int | None], spec: InputSpec) -> str | None:
    for axis, size in spec.axes.items():
        wanted = getattr(size, "value", size)
        if wanted is not None and sizes[axis] not in (wanted, None):
            return (
                f"expected axis {axis} of input shape to have value {wanted} but received input "
                f"with shape {sizes}"
            )
    for wanted, size in zip(spec.shape or (), sizes, strict=False):
        if None not in (wanted, size) and wanted != size:
            return f"expected shape={spec.shape}, found shape={sizes}"
    return None
