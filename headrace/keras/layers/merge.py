"""Layers of several inputs: element by element, side by side, products."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

from headrace.core.families import named
from headrace.keras.backend.products import batch_dot
from headrace.keras.engine.shapes import as_tuples
from headrace.layers import ops
from headrace.layers.engine.layer import Layer


class _Merge(Layer):
    """What they share: inputs of different ranks are made to fit."""

    _reshape_required = False

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def _merged(self, inputs: list[Any]) -> Any:
        raise NotImplementedError

    def build(self, input_shape: Any) -> None:
        if not isinstance(input_shape, list):
            raise ValueError("A merge layer should be called on a list of inputs.")
        shapes = as_tuples(input_shape)
        if len(shapes) < 2:
            raise ValueError(
                f"A merge layer should be called on a list of at least 2 inputs. Got {len(shapes)} inputs."
            )
        if len({s[0] for s in shapes if s is not None} - {None}) > 1:
            raise ValueError(
                f"Can not merge tensors with different batch sizes. Got tensors with shapes : {shapes}"
            )
        reduce(_broadcast, [None if s is None else s[1:] for s in shapes])
        self._reshape_required = None in shapes or len({len(s) for s in shapes}) != 1
        self.built = True

    def call(self, inputs: Any) -> Any:  # type: ignore[override]
        if not isinstance(inputs, list):
            raise ValueError("A merge layer should be called on a list of inputs.")
        if not self._reshape_required:
            return self._merged(inputs)
        ranks = [x.shape.ndims for x in inputs]
        if None not in ranks:
            return self._merged([_raised(x, max(ranks)) for x in inputs])
        # Ranks are not known: with the batch last, broadcasting fits the others.
        outputs = self._merged([_batch_last(x) for x in inputs])
        return _batch_first(outputs)

    def compute_output_shape(self, input_shape: Any) -> Any:
        shapes = as_tuples(input_shape)
        sizes: Any = reduce(_broadcast, [None if s is None else s[1:] for s in shapes])
        batches = {s[0] for s in shapes if s is not None} - {None}
        return (batches.pop() if len(batches) == 1 else None, *sizes)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        if not _check_masks(inputs, mask):
            return None
        masks = [ops.expand_dims(m, 0) for m in mask if m is not None]
        return ops.reduce_all(ops.concat(masks, axis=0), axis=0)


def _check_masks(inputs: Any, mask: Any) -> bool:
    """Is there any mask?"""
    if mask is None:
        return False
    for name, value in (("mask", mask), ("inputs", inputs)):
        if not isinstance(value, list):
            raise ValueError(f"`{name}` should be a list.")
    if len(mask) != len(inputs):
        raise ValueError("The lists `inputs` and `mask` should have the same length.")
    return not all(m is None for m in mask)


def _broadcast(a: Any, b: Any) -> Any:
    """The shape of two arrays of these shapes, element by element."""
    if a is None or b is None:
        return None
    if len(a) < len(b):
        a, b = b, a
    if not b:
        return a
    found = list(a[: -len(b)])
    for i, j in zip(a[-len(b) :], b):
        if i is None or j is None:
            found.append(None)
        elif 1 in (i, j) or i == j:
            found.append(max(i, j) if 0 not in (i, j) else 0)
        else:
            raise ValueError(f"Operands could not be broadcast together with shapes {a} {b}")
    return tuple(found)


def _raised(x: Any, rank: int) -> Any:
    for _ in range(rank - x.shape.ndims):
        x = ops.expand_dims(x, axis=1)
    return x


def _batch_last(x: Any) -> Any:
    rank = ops.rank(x)
    return ops.transpose(x, ops.concat([ops.range(1, rank), [0]], axis=0))


def _batch_first(x: Any) -> Any:
    rank = ops.rank(x)
    return ops.transpose(x, ops.concat([[rank - 1], ops.range(0, rank - 1)], axis=0))


class Add(_Merge):
    """The sum of its inputs."""

    def _merged(self, inputs: list[Any]) -> Any:
        return reduce(lambda a, b: a + b, inputs)


class Subtract(_Merge):
    """The first input without the second."""

    def build(self, input_shape: Any) -> None:
        super().build(input_shape)
        if len(input_shape) != 2:
            raise ValueError("A `Subtract` layer should be called on exactly 2 inputs")

    def _merged(self, inputs: list[Any]) -> Any:
        if len(inputs) != 2:
            raise ValueError("A `Subtract` layer should be called on exactly 2 inputs")
        return inputs[0] - inputs[1]


class Multiply(_Merge):
    """The product of its inputs, element by element."""

    def _merged(self, inputs: list[Any]) -> Any:
        return reduce(lambda a, b: a * b, inputs)


class Average(_Merge):
    """The mean of its inputs."""

    def _merged(self, inputs: list[Any]) -> Any:
        return reduce(lambda a, b: a + b, inputs) / len(inputs)


class Maximum(_Merge):
    """The largest of its inputs, element by element."""

    def _merged(self, inputs: list[Any]) -> Any:
        return reduce(ops.maximum, inputs)


class Minimum(_Merge):
    """The smallest of its inputs, element by element."""

    def _merged(self, inputs: list[Any]) -> Any:
        return reduce(ops.minimum, inputs)


class Concatenate(_Merge):
    """Its inputs side by side.

    Args:
      axis: along which.
      **kwargs: as of Layer.
    """

    def __init__(self, axis: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis

    def build(self, input_shape: Any) -> None:
        if not isinstance(input_shape, list) or len(input_shape) < 2:
            raise ValueError("A `Concatenate` layer should be called on a list of at least 2 inputs")
        shapes = as_tuples(input_shape)
        if any(s is None for s in shapes):
            self.built = True
            return
        others = set()
        for shape in shapes:
            rest = list(shape)
            del rest[self.axis]
            others.add(tuple(rest))
        if len(others) > 1:
            raise ValueError(
                "A `Concatenate` layer requires inputs with matching shapes except for the concat axis. Got "
                f"inputs shapes: {shapes}"
            )
        self.built = True

    def _merged(self, inputs: list[Any]) -> Any:
        axis = self.axis
        if axis < 0 and inputs[0].shape.ndims:
            axis %= inputs[0].shape.ndims
        return ops.concat([ops.convert_to_tensor(x) for x in inputs], axis)

    def compute_output_shape(self, input_shape: Any) -> Any:
        if not isinstance(input_shape, list):
            raise ValueError("A `Concatenate` layer should be called on a list of inputs.")
        shapes = as_tuples(input_shape)
        found = list(shapes[0])
        sizes = [shape[self.axis] for shape in shapes]
        found[self.axis] = None if None in sizes else sum(sizes)
        return tuple(found)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        if not _check_masks(inputs, mask):
            return None
        masks = []
        for x, own in zip(inputs, mask):
            if own is None:
                own = ops.ones_like(x, dtype="bool")
            elif own.shape.ndims < x.shape.ndims:
                own = ops.expand_dims(own, axis=-1)
            masks.append(own)
        return ops.reduce_all(ops.concat(masks, axis=self.axis), axis=-1)

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"axis": self.axis}


class Dot(_Merge):
    """The product of two inputs, over an axis of each, example by example.

    Args:
      axes: the axis, or one for each.
      normalize: make vectors along it of length 1 before?
      **kwargs: as of Layer.
    """

    def __init__(self, axes: Any, normalize: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not isinstance(axes, int):
            if not isinstance(axes, list | tuple):
                raise TypeError("Invalid type for `axes` - should be a list or an int.")
            if len(axes) != 2:
                raise ValueError("Invalid format for `axes` - should contain two elements.")
            if not all(isinstance(axis, int) for axis in axes):
                raise ValueError('Invalid format for `axes` - list elements should be "int".')
        self.axes, self.normalize = axes, normalize

    def _axes(self, *ranks: int) -> list[int]:
        given = [self.axes] * 2 if isinstance(self.axes, int) else self.axes
        return [axis % rank if axis < 0 else axis for axis, rank in zip(given, ranks)]

    def build(self, input_shape: Any) -> None:
        if not isinstance(input_shape, list) or len(input_shape) != 2:
            raise ValueError("A `Dot` layer should be called on a list of 2 inputs.")
        first, second = as_tuples(input_shape)
        self.built = True
        if first is None or second is None:
            return
        axes = self._axes(len(first), len(second))
        sizes = first[axes[0]], second[axes[1]]
        if sizes[0] != sizes[1]:
            raise ValueError(
                f"Dimension incompatibility {sizes[0]} != {sizes[1]}. Layer shapes: {first}, {second}"
            )

    def _merged(self, inputs: list[Any]) -> Any:
        if len(inputs) != 2:
            raise ValueError("A `Dot` layer should be called on exactly 2 inputs")
        axes = self._axes(*(x.shape.ndims for x in inputs))
        if self.normalize:
            inputs = [ops.l2_normalize(x, axis=axis) for x, axis in zip(inputs, axes)]
        return batch_dot(inputs[0], inputs[1], axes=axes)

    def compute_output_shape(self, input_shape: Any) -> Any:
        if not isinstance(input_shape, list) or len(input_shape) != 2:
            raise ValueError("A `Dot` layer should be called on a list of 2 inputs.")
        first, second = (list(s) for s in as_tuples(input_shape))
        axes = self._axes(len(first), len(second))
        first.pop(axes[0])
        second.pop(axes[1])
        found = first + second[1:]
        return tuple(found if len(found) > 1 else [*found, 1])

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return None

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"axes": self.axes, "normalize": self.normalize}


def _function(layer: type[_Merge], name: str) -> Callable[..., Any]:
    @named(name, f"A `{layer.__name__}` layer applied to a list of inputs; other arguments are the layer's.")
    def function(inputs: Any, **kwargs: Any) -> Any:
        return layer(**kwargs)(inputs)

    function.__module__ = __name__
    return function


add, subtract, multiply = (
    _function(Add, "add"),
    _function(Subtract, "subtract"),
    _function(Multiply, "multiply"),
)
average, maximum = _function(Average, "average"), _function(Maximum, "maximum")
minimum = _function(Minimum, "minimum")


def concatenate(inputs: Any, axis: int = -1, **kwargs: Any) -> Any:
    """Inputs side by side, along an axis."""
    return Concatenate(axis=axis, **kwargs)(inputs)


def dot(inputs: Any, axes: Any, normalize: bool = False, **kwargs: Any) -> Any:
    """The product of two inputs, over an axis of each, example by example."""
    return Dot(axes=axes, normalize=normalize, **kwargs)(inputs)
