"""Layers that pad, cut and repeat along the dimensions of space."""

from __future__ import annotations

from typing import Any

from headrace.layers import ops
from headrace.layers.engine.config import image_data_format
from headrace.layers.engine.input_spec import InputSpec
from headrace.layers.engine.layer import Layer
from headrace.layers.engine.windows import format_name, sizes


class _Spatial(Layer):
    """A layer of inputs with `_rank` dimensions of space."""

    _rank = 0

    def __init__(self, data_format: str | None = "channels_last", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format = format_name(data_format or image_data_format())
        self.input_spec = InputSpec(ndim=self._rank + 2)

    @property
    def _first(self) -> int:
        """The first axis of space."""
        return 2 if self.data_format == "channels_first" else 1

    def _lengths(self, given: list[Any]) -> list[Any]:
        """The lengths of the output along space."""
        raise NotImplementedError

    def compute_output_shape(self, input_shape: Any) -> Any:
        found = ops.as_shape(input_shape).as_list()
        space = slice(self._first, self._first + self._rank)
        found[space] = self._lengths(found[space])
        return ops.as_shape(found)


def _pairs(value: Any, rank: int, name: str) -> tuple[tuple[int, int], ...]:
    """A number, a number per dimension, or a pair per dimension, as pairs."""
    if isinstance(value, int):
        return ((value, value),) * rank
    if not hasattr(value, "__len__"):
        raise ValueError(
            f"`{name}` should be either an int, a tuple of {rank} ints (symmetric) or a tuple of {rank} "
            "tuples of "
            f"2 ints. Found: {value}"
        )
    if len(value) != rank:
        raise ValueError(f"`{name}` should have {'two' if rank == 2 else rank} elements. Found: {value}")
    return tuple(sizes(one, 2, f"entry of {name}") for one in value)  # type: ignore[misc]


class _ZeroPadding(_Spatial):
    """Zeros around the inputs.

    Args:
      padding: how many before and behind, along each dimension of space.
      data_format: channels_last or channels_first.
      **kwargs: as of Layer.
    """

    def __init__(self, padding: Any = 1, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)
        self.padding: Any = _pairs(padding, self._rank, "padding")

    def _lengths(self, given: list[Any]) -> list[Any]:
        return [None if n is None else n + sum(pad) for n, pad in zip(given, self._pads())]

    def _pads(self) -> Any:
        return self.padding

    def call(self, inputs: Any) -> Any:  # type: ignore[override]
        rest = self._rank + 2 - self._first - self._rank
        pads = [[0, 0]] * self._first + [list(pad) for pad in self._pads()] + [[0, 0]] * rest
        return ops.pad(inputs, pads)

    def get_config(self) -> dict[str, Any]:
        config = super().get_config() | {"padding": self.padding}
        return config if self._rank == 1 else config | {"data_format": self.data_format}


class ZeroPadding1D(_ZeroPadding):
    """Zeros before and behind sequences.

    Args:
      padding: how many.
      **kwargs: as of Layer.
    """

    _rank = 1

    def __init__(self, padding: Any = 1, **kwargs: Any) -> None:
        _Spatial.__init__(self, "channels_last", **kwargs)
        self.padding = sizes(padding, 2, "padding")

    def _pads(self) -> Any:
        return (self.padding,)


class ZeroPadding2D(_ZeroPadding):
    """Zeros around images."""

    _rank = 2

    def __init__(self, padding: Any = (1, 1), data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(padding, data_format, **kwargs)


class ZeroPadding3D(_ZeroPadding):
    """Zeros around volumes."""

    _rank = 3

    def __init__(self, padding: Any = (1, 1, 1), data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(padding, data_format, **kwargs)


class _Cropping(_Spatial):
    """The inputs without their edges.

    Args:
      cropping: how many elements to leave away before and behind, along each dimension of space.
      data_format: channels_last or channels_first.
      **kwargs: as of Layer.
    """

    def __init__(self, cropping: Any, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)
        self.cropping: Any = _pairs(cropping, self._rank, "cropping")

    def _edges(self) -> Any:
        return self.cropping

    def _lengths(self, given: list[Any]) -> list[Any]:
        return [None if n is None else n - sum(edge) for n, edge in zip(given, self._edges())]

    def call(self, inputs: Any) -> Any:  # type: ignore[override]
        inner = [slice(start, -end if end else None) for start, end in self._edges()]
        return inputs[(*[slice(None)] * self._first, *inner)]

    def get_config(self) -> dict[str, Any]:
        config = super().get_config() | {"cropping": self.cropping}
        return config if self._rank == 1 else config | {"data_format": self.data_format}


class Cropping1D(_Cropping):
    """Sequences without their ends.

    Args:
      cropping: how many elements to leave away before and behind.
      **kwargs: as of Layer.
    """

    _rank = 1

    def __init__(self, cropping: Any = (1, 1), **kwargs: Any) -> None:
        _Spatial.__init__(self, "channels_last", **kwargs)
        self.cropping = sizes(cropping, 2, "cropping")

    def _edges(self) -> Any:
        return (self.cropping,)


class Cropping2D(_Cropping):
    """Images without their edges."""

    _rank = 2

    def __init__(
        self, cropping: Any = ((0, 0), (0, 0)), data_format: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(cropping, data_format, **kwargs)


class Cropping3D(_Cropping):
    """Volumes without their edges."""

    _rank = 3

    def __init__(
        self, cropping: Any = ((1, 1), (1, 1), (1, 1)), data_format: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(cropping, data_format, **kwargs)


class UpSampling1D(_Spatial):
    """Each time step `size` times.

    Args:
      size: how often.
      **kwargs: as of Layer.
    """

    _rank = 1

    def __init__(self, size: int = 2, **kwargs: Any) -> None:
        super().__init__("channels_last", **kwargs)
        self.size = int(size)

    def _lengths(self, given: list[Any]) -> list[Any]:
        return [None if n is None else n * self.size for n in given]

    def call(self, inputs: Any) -> Any:  # type: ignore[override]
        return repeated(inputs, self.size, 1)

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"size": self.size}


def repeated(x: Any, count: int, axis: int) -> Any:
    """Each slice along an axis `count` times."""
    outputs = ops.repeat(x, count, axis=axis)
    known = x.shape.as_list()
    if not ops.executing_eagerly():
        known[axis] = None if known[axis] is None else known[axis] * count
        outputs.set_shape(known)
    return outputs


class UpSampling2D(_Spatial):
    """Images, larger by whole factors.

    Args:
      size: the factors.
      data_format: channels_last or channels_first.
      interpolation: nearest or bilinear.
      **kwargs: as of Layer.
    """

    _rank = 2

    def __init__(
        self,
        size: Any = (2, 2),
        data_format: str | None = None,
        interpolation: str = "nearest",
        **kwargs: Any,
    ) -> None:
        super().__init__(data_format, **kwargs)
        self.size = sizes(size, 2, "size")
        if interpolation not in ("nearest", "bilinear"):
            raise ValueError('`interpolation` argument should be one of `"nearest"` or `"bilinear"`.')
        self.interpolation = interpolation

    def _lengths(self, given: list[Any]) -> list[Any]:
        return [None if n is None else n * factor for n, factor in zip(given, self.size)]

    def call(self, inputs: Any) -> Any:  # type: ignore[override]
        return resized(inputs, self.size[0], self.size[1], self.data_format, self.interpolation)

    def get_config(self) -> dict[str, Any]:
        own = {"size": self.size, "data_format": self.data_format, "interpolation": self.interpolation}
        return super().get_config() | own


def resized(x: Any, rows: int, columns: int, data_format: str, interpolation: str = "nearest") -> Any:
    """Images, larger by these factors."""
    first = data_format == "channels_first"
    known = x.shape.as_list()
    if first:
        x = ops.transpose(x, [0, 2, 3, 1])
    wanted = ops.shape(x)[1:3] * ops.constant([rows, columns], "int32")
    resize = {"nearest": ops.resize_nearest_neighbor, "bilinear": ops.resize_bilinear}[interpolation]
    outputs = resize(x, wanted)
    if first:
        outputs = ops.transpose(outputs, [0, 3, 1, 2])
    if not ops.executing_eagerly():
        start = 2 if first else 1
        for axis, factor in ((start, rows), (start + 1, columns)):
            known[axis] = None if known[axis] is None else known[axis] * factor
        outputs.set_shape(known)
    return outputs


class UpSampling3D(_Spatial):
    """Volumes, larger by whole factors.

    Args:
      size: the factors.
      data_format: channels_last or channels_first.
      **kwargs: as of Layer.
    """

    _rank = 3

    def __init__(self, size: Any = (2, 2, 2), data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)
        self.size = sizes(size, 3, "size")

    def _lengths(self, given: list[Any]) -> list[Any]:
        return [None if n is None else n * factor for n, factor in zip(given, self.size)]

    def call(self, inputs: Any) -> Any:  # type: ignore[override]
        for axis, factor in enumerate(self.size):
            inputs = repeated(inputs, factor, self._first + axis)
        return inputs

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"size": self.size, "data_format": self.data_format}
