"""A dataset is an immutable description that makes iterators; an iterator gives elements one by one.

An element is a list of values, one per component.  An iterator can say where it stands (`save`) and go
there (`restore`): plain dicts, lists, numbers and arrays, so that the place may be kept in a checkpoint.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from headrace.core.dtypes import DType
from headrace.core.errors import InvalidArgumentError
from headrace.core.shapes import Shape

if TYPE_CHECKING:
    from headrace.ops.data.pipeline.running import Running

Element = list[Any]
Place = dict[str, Any]

INFINITE, UNKNOWN_COUNT = -1, -2


class Dataset:
    """A description.  A subclass says how many elements there are; the iterator over it says so itself
    (`class TakeIterator(UnaryIterator, over=Take)`), or `make` makes one in another way."""

    waits: bool
    iterator_type: ClassVar[type[Iterator]]

    kind = "Dataset"  # its part in the names of iterators, as TF has it

    def __init__(
        self, types: Sequence[DType], shapes: Sequence[Shape], inputs: Sequence[Dataset] = ()
    ) -> None:
        self.types, self.shapes, self.inputs = tuple(types), tuple(shapes), tuple(inputs)
        # Whether to take an element may mean to wait for Python code of the program or for another op.
        self.waits = any(x.waits for x in inputs)

    def make(self, running: Running, path: str) -> Iterator:
        return self.iterator_type(self, running, path)

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


class Resized(Unary):
    """The elements of one input in another number, which nobody knows before."""

    def cardinality(self) -> int:
        return UNKNOWN_COUNT


class NoBlocks(Exception):
    """Elements come one by one: `next` has what `block` has not."""


class Iterator:
    """A place in the elements of a dataset.  `PLACE` names the fields that say where, if they are plain."""

    PLACE: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, over: type[Dataset] | None = None) -> None:
        if over is not None:
            over.iterator_type = cls

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
        if not self.PLACE:
            raise NotImplementedError(f"the position in a {self.dataset.kind} can not be saved")
        return self.fields()

    def restore(self, place: Place) -> None:
        if not self.PLACE:
            raise NotImplementedError(f"the position in a {self.dataset.kind} can not be restored")
        self.set_fields(place)

    def fields(self) -> Place:
        return {name: getattr(self, name) for name in self.PLACE}

    def set_fields(self, place: Place) -> None:
        for name in self.PLACE:
            setattr(self, name, place[name])

    def close(self) -> None:
        """Nobody will ask again."""


class UnaryIterator(Iterator):
    """One input iterator, `source`."""

    dataset: Any

    def __init__(self, dataset: Any, running: Running, path: str) -> None:
        super().__init__(dataset, running, path)
        self.source: Iterator = dataset.source.iterator(running, path)

    def save(self) -> Place:
        return {**self.fields(), "source": self.source.save()}

    def restore(self, place: Place) -> None:
        self.set_fields(place)
        self.source.restore(place["source"])

    def close(self) -> None:
        self.source.close()
