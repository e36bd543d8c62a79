"""A dataset is an immutable description that makes iterators; an iterator gives elements one by one.

An element is a list of values, one per component.  An iterator can say where it stands (`save`) and go
there (`restore`): plain dicts, lists, numbers and arrays, so that the place may be kept in a checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.core.dtypes import DType
from headrace.core.errors import InvalidArgumentError, require
from headrace.core.shapes import Shape
from headrace.ops.declaration.declare import Op, op
from headrace.ops.declaration.shape_rules import scalar
from headrace.ops.declaration.signature import Shapes, Types
from headrace.ops.declaration.traits import HOST, Trait

if TYPE_CHECKING:
    from headrace.ops.data.pipeline.running import Running

Element = list[Any]
Place = dict[str, Any]

INFINITE, UNKNOWN_COUNT = -1, -2


class Dataset:
    """A description.  A subclass says which iterator it makes, and how many elements there are."""

    waits: bool

    kind = "Dataset"  # its part in the names of iterators, as TF has it

    def __init__(
        self, types: Sequence[DType], shapes: Sequence[Shape], inputs: Sequence[Dataset] = ()
    ) -> None:
        self.types, self.shapes, self.inputs = tuple(types), tuple(shapes), tuple(inputs)
        # Whether to take an element may mean to wait for Python code of the program or for another op.
        self.waits = any(x.waits for x in inputs)

    def make(self, running: Running, path: str) -> Iterator:
        raise NotImplementedError(type(self).__name__)

    def iterator(self, running: Running, path: str) -> Iterator:
        """A new iterator at the first element.  `path` names it within its pipeline."""
        return self.make(running, f"{path}::{self.kind}")

    def cardinality(self) -> int:
        return UNKNOWN_COUNT

    def __repr__(self) -> str:
        return f"<dataset {self.kind} of {len(self.types)} components>"

    def zeros_like(self) -> Any:
        raise InvalidArgumentError(None, None, "A dataset has no zeros.")


class Unary(Dataset):
    """One input, whose elements come out in the same form unless types and shapes are given."""

    def __init__(self, source: Dataset, types: Any = None, shapes: Any = None) -> None:
        super().__init__(
            source.types if types is None else types, source.shapes if shapes is None else shapes, (source,)
        )
        self.source = source

    def cardinality(self) -> int:
        return self.source.cardinality()


class NoBlocks(Exception):
    """Elements come one by one: `next` has what `block` has not."""


class Iterator:
    """A place in the elements of a dataset."""

    def __init__(self, dataset: Any, running: Running, path: str) -> None:
        self.dataset, self.running, self.path = dataset, running, path

    def next(self) -> Element | None:
        """The next element; None at the end, and ever after."""
        raise NotImplementedError(type(self).__name__)

    def block(self, most: int) -> Element | None:
        """The next elements at once, stacked, at most so many and at least one; None at the end.

        Raises:
          NoBlocks: elements come one by one.
        """
        raise NoBlocks

    def save(self) -> Place:
        raise NotImplementedError(f"the position in a {self.dataset.kind} can not be saved")

    def restore(self, place: Place) -> None:
        raise NotImplementedError(f"the position in a {self.dataset.kind} can not be restored")

    def close(self) -> None:
        """Nobody will ask again."""


class UnaryIterator(Iterator):
    """One input iterator, `source`."""

    dataset: Any

    def __init__(self, dataset: Any, running: Running, path: str) -> None:
        super().__init__(dataset, running, path)
        self.source: Iterator = dataset.source.iterator(running, path)

    def save(self) -> Place:
        return {"source": self.source.save()}

    def restore(self, place: Place) -> None:
        self.source.restore(place["source"])

    def close(self) -> None:
        self.source.close()


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
