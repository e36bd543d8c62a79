"""Run a compiled rule on arrays, without a graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.codegen.assembly.assemble import assemble
from headrace.codegen.ir.kernel_ir import Array, Compute, Var, var
from headrace.codegen.lowering.lower import Emitter, element
from headrace.core import dtypes


def operand(array: np.ndarray[Any, Any], known: bool = False) -> Array:
    value = array if known else None
    return Array(array.shape, dtypes.as_dtype(array.dtype), value=value)


def run(rule: Callable[..., Any], *arrays: Any, known: tuple[int, ...] = ()) -> list[Any]:
    """rule(e, *operands) -> the arrays it describes."""
    e = Emitter()
    given = [np.ascontiguousarray(a).reshape(np.shape(a)) for a in arrays]
    operands = [operand(a, i in known) for i, a in enumerate(given)]
    made = rule(e, *operands)
    outputs = list(made) if isinstance(made, (list, tuple)) else [made]
    inputs = [x for i, x in enumerate(operands) if i not in known]
    program = assemble(inputs, outputs, e.updates, e.checks)
    results, _ = program.run([a for i, a in enumerate(given) if i not in known])
    return results


def elements(rule: Callable[..., Any], *arrays: Any) -> Any:
    """rule(e, *scalars) at every index of the broadcast shape."""

    def whole(e: Emitter, *operands: Array) -> Array:
        shape = np.broadcast_shapes(*(x.shape for x in operands))
        loops = tuple(Var(n) for n in shape)
        body = rule(e, *(element(x, tuple(map(var, loops))) for x in operands))
        return Array(shape, body.kind, source=Compute(loops, body))

    return run(whole, *arrays)[0]
