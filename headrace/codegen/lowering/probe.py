"""Operands that note which of them a rule asks for its value: what it is that a declined node depends on."""

from __future__ import annotations

from headrace.codegen.ir.kernel_ir import Array
from headrace.core.dtypes import NDArray


class Probe(Array):
    """An operand of unknown value that notes when a rule asks for it."""

    __slots__ = ("is_asked",)

    @staticmethod
    def of(array: Array) -> Probe:
        made = object.__new__(Probe)
        for name in Array.__slots__:
            if name != "value":
                setattr(made, name, getattr(array, name))
        made.is_asked = False
        return made

    @property
    def value(self) -> NDArray | None:  # type: ignore[override]
        self.is_asked = True
        return None
