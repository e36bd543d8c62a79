"""Library calls behind one interface: oneDNN where it is, else generated kernels and a BLAS."""

from __future__ import annotations

from typing import Any

from headrace.codegen.kernel_ir import Tensor
from headrace.codegen.stages import Called


def steps(called: Called, outputs: list[Tensor], step: Any) -> list[Any]:
    raise NotImplementedError(called.call.kind)
