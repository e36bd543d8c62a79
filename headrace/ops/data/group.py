"""Elements grouped by a key."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core.errors import require
from headrace.ops.data.interleave import iterator_of
from headrace.ops.data.pipeline.captured import Captured
from headrace.ops.data.pipeline.dataset import Dataset, Element, Iterator, Place, Resized, UnaryIterator
from headrace.ops.data.pipeline.declaring import OF_ELEMENTS, boxed, dataset_in, dataset_op
from headrace.ops.data.pipeline.elements import Elements
from headrace.ops.declaration.signature import Function, Types
from headrace.ops.declaration.traits import STATEFUL

_KEY = "`key_func` must return a scalar int64."


class Grouped(Resized):
    """What both have: functions, the first of which gives the key."""

    def __init__(self, source: Dataset, types: Any, shapes: Any, *functions: Captured) -> None:
        super().__init__(source, types, shapes)
        self.key, *self.functions = functions
        self.waits |= any(f.waits for f in functions)


class GroupByWindow(Grouped):
    """`functions`: reduce, size of the window."""

    kind = "GroupByWindow"


class WindowsIterator(UnaryIterator, over=GroupByWindow):
    def __init__(self, dataset: Any, running: Any, path: str) -> None:
        super().__init__(dataset, running, path)
        self.groups: dict[int, list[Element]] = {}
        self.sizes: dict[int, int] = {}
        self.inner: Iterator | None = None
        self.key, self.input_ended = 0, False

    def next(self) -> Element | None:
        while True:
            if self.inner is not None:
                found = self.inner.next()
                if found is not None:
                    return found
                self.inner.close()
                self.inner = None
                self.groups.pop(self.key, None)
            while not self.input_ended:
                self.running.check()
                element = self.source.next()
                if element is None:
                    self.input_ended = True
                elif self._is_full(element):
                    break
            if self.inner is None and self.input_ended:
                if not self.groups:
                    return None
                self._flush(min(self.groups))

    def _is_full(self, element: Element) -> bool:
        """Put an element into its group; a group that is full is what comes next."""
        dataset, running = self.dataset, self.running
        keys = dataset.key(running, element)
        key = dataset.key.one_number(keys, _KEY)
        if key not in self.sizes:
            size = dataset.functions[1].number(
                running, keys, "`window_size_func` must return a scalar int64."
            )
            require(size > 0, f"Window size must be greater than zero, but got {size}.")
            self.sizes[key] = size
        group = self.groups.setdefault(key, [])
        group.append(element)
        if len(group) == self.sizes[key]:
            self._flush(key)
            return True
        return False

    def _flush(self, key: int) -> None:
        source = self.dataset.source
        elements = boxed(Elements(source.types, source.shapes, self.groups[key]))
        self.key = key
        arguments = [np.array(key, np.int64), elements]
        self.inner = iterator_of(self.dataset.functions[0], self.running, self.path, 0, arguments)

    def save(self) -> Place:
        return {
            "source": None if self.input_ended else self.source.save(),
            "keys": list(self.groups),
            "groups": list(self.groups.values()),
            "sizes": [[k, n] for k, n in self.sizes.items()],
            "key": self.key,
            "inner": None if self.inner is None else self.inner.save(),
        }

    def restore(self, place: Place) -> None:
        self.input_ended = place["source"] is None
        if not self.input_ended:
            self.source.restore(place["source"])
        self.groups = {k: list(g) for k, g in zip(place["keys"], place["groups"])}
        self.sizes = dict(place["sizes"])
        if place["inner"] is not None:
            self._flush(place["key"])
            assert self.inner is not None
            self.inner.restore(place["inner"])

    def close(self) -> None:
        self.source.close()
        if self.inner is not None:
            self.inner.close()


@dataset_op(
    "GroupByWindowDataset",
    "input_dataset: variant, key_func_other_arguments: Tkey_func_other_arguments, "
    "reduce_func_other_arguments: Treduce_func_other_arguments, "
    "window_size_func_other_arguments: Twindow_size_func_other_arguments -> handle: variant",
    also="ExperimentalGroupByWindowDataset",
    attrs={
        "key_func": Function(),
        "reduce_func": Function(),
        "window_size_func": Function(),
        "Tkey_func_other_arguments": Types(min=0),
        "Treduce_func_other_arguments": Types(min=0),
        "Twindow_size_func_other_arguments": Types(min=0),
        **OF_ELEMENTS,
    },
)
def group_by_window_dataset(
    ctx, input_dataset, key_func_other_arguments, reduce_func_other_arguments,
    window_size_func_other_arguments, *, key_func, reduce_func, window_size_func, output_types, output_shapes,
):  # fmt: skip
    """The elements of the datasets that windows of elements of one key become."""
    return GroupByWindow(
        dataset_in(input_dataset),
        output_types,
        output_shapes,
        Captured(ctx, key_func, key_func_other_arguments),
        Captured(ctx, reduce_func, reduce_func_other_arguments),
        Captured(ctx, window_size_func, window_size_func_other_arguments),
    )


# -- to one element for each key -------------------------------------------------------------------
class GroupByReducer(Grouped):
    """`functions`: initial state, reduce, finalize."""

    kind = "GroupByReducer"


class ReducedIterator(UnaryIterator, over=GroupByReducer):
    def __init__(self, dataset: Any, running: Any, path: str) -> None:
        super().__init__(dataset, running, path)
        self.states: dict[int, Element] = {}
        self.keys: list[int] | None = None  # those that are left, when the input has ended

    def next(self) -> Element | None:
        initial, reduce, finalize = self.dataset.functions
        while self.keys is None:
            self.running.check()
            element = self.source.next()
            if element is None:
                self.keys = sorted(self.states)
                break
            keys = self.dataset.key(self.running, element)
            key = self.dataset.key.one_number(keys, _KEY)
            if key not in self.states:
                self.states[key] = initial(self.running, keys)
            self.states[key] = reduce(self.running, [*self.states[key], *element])
        if not self.keys:
            return None
        result: Element = finalize(self.running, self.states[self.keys.pop(0)])
        return result

    def save(self) -> Place:
        return {
            "source": None if self.keys is not None else self.source.save(),
            "state_keys": list(self.states),
            "states": list(self.states.values()),
            "keys": self.keys,
        }

    def restore(self, place: Place) -> None:
        self.keys = None if place["keys"] is None else list(place["keys"])
        self.states = dict(zip(place["state_keys"], place["states"]))
        if self.keys is None:
            self.source.restore(place["source"])


@dataset_op(
    "GroupByReducerDataset",
    "input_dataset: variant, key_func_other_arguments: Tkey_func_other_arguments, "
    "init_func_other_arguments: Tinit_func_other_arguments, "
    "reduce_func_other_arguments: Treduce_func_other_arguments, "
    "finalize_func_other_arguments: Tfinalize_func_other_arguments -> handle: variant",
    [STATEFUL],
    also="ExperimentalGroupByReducerDataset",
    attrs={
        "key_func": Function(),
        "init_func": Function(),
        "reduce_func": Function(),
        "finalize_func": Function(),
        "Tkey_func_other_arguments": Types(min=0),
        "Tinit_func_other_arguments": Types(min=0),
        "Treduce_func_other_arguments": Types(min=0),
        "Tfinalize_func_other_arguments": Types(min=0),
        **OF_ELEMENTS,
    },
)
def group_by_reducer_dataset(
    ctx, input_dataset, key_func_other_arguments, init_func_other_arguments, reduce_func_other_arguments,
    finalize_func_other_arguments, *, key_func, init_func, reduce_func, finalize_func, output_types,
    output_shapes,
):  # fmt: skip
    """One element for each key: what its elements are reduced to."""
    return GroupByReducer(
        dataset_in(input_dataset),
        output_types,
        output_shapes,
        Captured(ctx, key_func, key_func_other_arguments),
        Captured(ctx, init_func, init_func_other_arguments),
        Captured(ctx, reduce_func, reduce_func_other_arguments),
        Captured(ctx, finalize_func, finalize_func_other_arguments),
    )
