"""Datasets of what Python generators give."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DType, as_dtype
from headrace.core.shapes import as_shape
from headrace.data import sources
from headrace.data.dataset import Dataset
from headrace.data.values import nest, structure
from headrace.data.values.function import StructuredFunction
from headrace.functions.control.script import numpy_function
from headrace.ops.data import generator as ops
from headrace.ops.declaration.convert import convert_to_tensor


class _Passes:
    """The passes over a generator that are under way, by number."""

    def __init__(self, generator: Callable[..., Any]) -> None:
        self._generator, self._lock = generator, threading.Lock()
        self._arguments: dict[int, tuple[Any, ...]] = {}
        self._iterators: dict[int, Any] = {}
        self._next = 0

    def begin(self, *args: Any) -> Any:
        with self._lock:
            number, self._next = self._next, self._next + 1
        self._arguments[number] = args
        return np.array(number, np.int64)

    def iterator(self, number: int) -> Any:
        found = self._iterators.get(number)
        if found is None:
            found = self._iterators[number] = iter(self._generator(*self._arguments.pop(number)))
        return found

    def end(self, number: int) -> None:
        self._arguments.pop(number, None)
        found = self._iterators.pop(number, None)
        close = getattr(found, "close", None)
        if close is not None:
            close()


def from_generator(generator: Any, output_types: Any, output_shapes: Any, args: Any) -> Dataset:
    if not callable(generator):
        raise TypeError("`generator` must be callable.")
    types = nest.map_structure(as_dtype, output_types)
    if output_shapes is None:
        shapes = nest.map_structure(lambda _: as_shape(None), types)
    else:
        shapes = nest.map_structure_up_to(types, as_shape, output_shapes)
    tensors = () if args is None else tuple(convert_to_tensor(a, name="args") for a in args)
    passes = _Passes(generator)
    flat_types, flat_shapes = nest.flatten(types), nest.flatten(shapes)

    def begin(_: Any) -> Any:
        return numpy_function(passes.begin, tensors, dtypes.int64)

    def following(number: Any) -> Any:
        """The next element of a pass."""

        def element(which: Any) -> Any:
            values = next(passes.iterator(int(which)))
            return _checked(values, types, flat_types, flat_shapes)

        flat = numpy_function(element, [number], flat_types)
        flat = flat if isinstance(flat, (list, tuple)) else [flat]
        for tensor, shape in zip(flat, flat_shapes):
            tensor.set_shape(shape)
        return nest.pack_sequence_as(types, list(flat))

    def finish(number: Any) -> Any:
        def end(which: Any) -> Any:
            passes.end(int(which))
            return np.array(0, np.int64)

        return numpy_function(end, [number], dtypes.int64)

    return sources.from_tensors(0).flat_map(lambda dummy: _dataset(dummy, begin, following, finish))


def _dataset(start: Any, begin: Any, following: Any, finish: Any) -> Dataset:
    """Elements that functions give: state = begin(start), following(state) until it is out of range, then
    finish(state)."""
    what = "Dataset.from_generator()"
    spec = structure.type_spec_from_value(start)
    first = StructuredFunction(begin, what, spec)
    step = StructuredFunction(following, what, first.output_structure)
    last = StructuredFunction(finish, what, first.output_structure)
    variant = ops.generator_dataset(
        structure.to_tensor_list(spec, start) + first.captured,
        step.captured,
        last.captured,
        init_func=first.function,
        next_func=step.function,
        finalize_func=last.function,
        **structure.flat_structure(step.output_structure),
    )
    return Dataset(variant, step.output_structure, (), [first, step, last])


def _checked(values: Any, types: Any, flat_types: list[DType], flat_shapes: list[Any]) -> list[Any]:
    """An element as arrays of the promised types and shapes.

    Raises:
      TypeError: it has another structure or other types.
      ValueError: it has other shapes.
    """
    try:
        flat = nest.flatten_up_to(types, values)
    except (TypeError, ValueError):
        raise TypeError(
            "`generator` yielded an element that did not match the expected structure. The expected "
            f"structure was {types}, but the yielded element was {values}."
        ) from None
    found = []
    for value, dtype, shape in zip(flat, flat_types, flat_shapes):
        array = _array(value, dtype)
        if array.dtype != dtype.numpy:
            raise TypeError(
                f"`generator` yielded an element of type {array.dtype} where an element of type "
                f"{np.dtype(dtype.numpy)} was expected."
            )
        if not shape.is_compatible_with(array.shape):
            raise ValueError(
                f"`generator` yielded an element of shape {array.shape} where an element of shape "
                f"{shape} was expected."
            )
        found.append(array)
    return found


def _array(value: Any, dtype: DType) -> Any:
    if type(value) is np.ndarray and value.dtype == dtype.numpy and dtype.kind != "s":
        return value
    try:
        if dtype.kind == "s":
            return _strings(value)
        return np.asarray(value, dtype.numpy, order="C")
    except (TypeError, ValueError):
        raise TypeError(
            "`generator` yielded an element that could not be converted to the expected type. The expected "
            f"type was {dtype.name}, but the yielded element was {value}."
        ) from None


def _strings(value: Any) -> Any:
    array = np.asarray(value)
    if array.dtype.kind not in "SUO":
        raise TypeError(f"not a string: {value!r}")
    flat = [x.encode() if isinstance(x, str) else x for x in array.reshape(-1).tolist()]
    if not all(isinstance(x, bytes) for x in flat):
        raise TypeError(f"not a string: {value!r}")
    out = np.empty(len(flat), object)
    out[:] = flat
    return out.reshape(array.shape)
