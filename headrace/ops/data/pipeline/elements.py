"""Datasets whose elements are there already, and the iterator over what knows each element by its number."""

from __future__ import annotations

from typing import Any

from headrace.ops.data.pipeline.dataset import Dataset, Element, Iterator, NoBlocks


class Positions(Iterator):
    """Over a dataset that knows each of its elements by its number."""

    PLACE = ("at",)

    def __init__(self, dataset: Any, running: Any, path: str, count: int) -> None:
        super().__init__(dataset, running, path)
        self.count, self.at, self.element = count, 0, dataset.element

    def next(self) -> Element | None:
        at = self.at
        if at >= self.count:
            return None
        self.at = at + 1
        found: Element = self.element(at)
        return found

    def block(self, most: int) -> Element | None:
        rows = getattr(self.dataset, "rows", None)
        if rows is None:
            raise NoBlocks
        at = self.at
        if at >= self.count:
            return None
        self.at = min(at + most, self.count)
        found: Element = rows(slice(at, self.at))
        return found


class Numbers(Iterator):
    """The numbers of the elements of a dataset that knows each by its number."""

    PLACE = ("at",)

    def __init__(self, dataset: Any, running: Any, path: str) -> None:
        super().__init__(dataset, running, path)
        self.count, self.at = dataset.cardinality(), 0

    def next(self) -> Any:
        at = self.at
        if at >= self.count:
            return None
        self.at = at + 1
        return at


class Elements(Dataset):
    """Elements that are there already."""

    kind = "Window"

    def __init__(self, types: Any, shapes: Any, elements: list[Element]) -> None:
        super().__init__(types, shapes)
        self.elements = elements

    def make(self, running: Any, path: str) -> Iterator:
        return Positions(self, running, path, len(self.elements))

    def element(self, position: int) -> Element:
        return self.elements[position]

    def cardinality(self) -> int:
        return len(self.elements)
