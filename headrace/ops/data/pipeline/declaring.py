"""How ops see datasets: as variants, taken out of their tensors; and how such an op is declared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from headrace.core.dtypes import DType
from headrace.core.errors import InvalidArgumentError, require
from headrace.core.shapes import Shape
from headrace.ops.data.pipeline.dataset import Dataset
from headrace.ops.declaration.declare import Op, op
from headrace.ops.declaration.shape_rules import scalar
from headrace.ops.declaration.signature import Shapes, Types
from headrace.ops.declaration.traits import HOST, Trait


def dataset_in(value: Any) -> Dataset:
    """The description in a variant tensor."""
    found = value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value
    found = getattr(found, "wrapped", found)
    if not isinstance(found, Dataset):
        raise InvalidArgumentError(None, None, "Tensor must be a Dataset object.")
    return found


def boxed(value: Any) -> Any:
    """A value as a scalar tensor of variants."""
    out = np.empty((), object)
    out[()] = value
    return out


def scalar_of(value: Any, name: str) -> Any:
    """A scalar argument as a Python value."""
    require(np.ndim(value) == 0, f"{name} must be a scalar")
    return value.item() if isinstance(value, np.generic | np.ndarray) else value


def check_types(found: Sequence[DType], wanted: Sequence[DType], shapes: Sequence[Shape], what: Any) -> None:
    """The elements that a consumer is promised are those that the dataset has."""
    if len(found) != len(wanted):
        raise InvalidArgumentError(
            None,
            None,
            f"Number of components does not match: expected {len(wanted)} types but got {len(found)}.",
        )
    for i, (a, b) in enumerate(zip(found, wanted)):
        require(a == b, f"Data type mismatch at component {i}: expected {b.name} but got {a.name}.")
    for i, (x, y) in enumerate(zip(what, shapes)):
        require(x.is_compatible_with(y), f"Incompatible shapes at component {i}: expected {y} but got {x}.")


OF_ELEMENTS: dict[str, Any] = {"output_types": Types(min=1), "output_shapes": Shapes(min=1)}


def _no_samples(rng: Any) -> Any:
    """Samples can not hold datasets: tests/data has pipelines, and what they give."""
    return iter(())


def dataset_op(
    name: str,
    signature: str,
    traits: Sequence[Trait] = (),
    also: str | None = None,
    attrs: dict[str, Any] | None = None,
) -> Callable[[Callable[..., Any]], Op]:
    """Declare an op that gives a dataset.  `also`: another op of the same meaning."""
    given = OF_ELEMENTS if attrs is None else attrs

    def declare(body: Callable[..., Any]) -> Op:
        made = [
            op(n, signature, shape=scalar, traits={HOST, *traits}, attrs=given)(body)
            for n in ((name,) if also is None else (name, also))
        ]
        for declared in made:
            declared.no_gradient()
            declared.samples(_no_samples)
        return made[0]

    return declare
