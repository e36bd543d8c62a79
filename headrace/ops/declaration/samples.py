"""Samples: what the generated tests run an op on.  They stand in the op's own block.

yield Sample(x, y, axis=1)                       # NumPy arrays for inputs, attributes by name
yield Sample(x, note="no overflow", tolerance=1e-3, grad=False)
yield ErrorSample(a, b, raises="inner dimensions differ: 3")
"""

from __future__ import annotations

from typing import Any


class Sample:
    """Inputs and attributes that the op accepts.

    dtypes: False keeps the arrays' own types (the tests otherwise also try float32 for float64).
    grad: False where finite differences can not check the gradient (kinks).
    """

    def __init__(
        self,
        *inputs: Any,
        note: str = "",
        grad: bool = True,
        dtypes: bool = True,
        tolerance: float | None = None,
        **attrs: Any,
    ) -> None:
        self.inputs, self.attrs, self.note = inputs, attrs, note
        self.grad, self.dtypes, self.tolerance = grad, dtypes, tolerance

    def __repr__(self) -> str:
        shapes = ",".join(_describe(i) for i in self.inputs)
        attrs = ",".join(f"{k}={_describe(v)}" for k, v in self.attrs.items())
        return "-".join(part for part in (shapes, attrs, self.note) if part).replace(" ", "")


class ErrorSample(Sample):
    """Inputs that must be refused, with a message that matches `raises` (a regular expression)."""

    def __init__(self, *inputs: Any, raises: str, **attrs: Any) -> None:
        super().__init__(*inputs, **attrs)
        self.raises = raises


def _describe(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(_describe(v) for v in value) + "]"
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"{value.dtype}{list(value.shape)}"
    return str(value)
