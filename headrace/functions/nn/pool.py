"""Pooling: tf.nn.max_pool, avg_pool, pool ... in one, two and three dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.families import documented, named
from headrace.core.shapes import as_shape
from headrace.functions.nn.atrous import with_space_to_batch
from headrace.functions.nn.window import per_dimension, spatial_dimensions, strides_and_rates
from headrace.functions.values.old_names import renamed
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.declaration import array
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.nn.pools import pool as ops
from headrace.ops.nn.pools import pool3d, pool_argmax

_LAYOUTS = {1: "NWC", 2: "NHWC", 3: "NDHWC"}  # by the dimensions of space


def _doc(
    what: str, input: str, sizes: str, formats: str, node: str = "node", padded: str = "", end: str = ""
) -> str:
    return f"""{what} under a window.

    Args:
      {input}.
      ksize: the window: an int, or a list of {sizes}.
      strides: how far it moves: an int, or a list of {sizes}.
      padding: "SAME" or "VALID".{padded}
      data_format: {formats}.
      name: name of the {node}.{end}
    """


def _pooling(space: int, build: Any, default: str, name: str, doc: str) -> Callable[..., Tensor]:
    """A function that pools in so many dimensions of space; its node is called `default`."""

    @named(name, doc)
    def function(
        input: Any,
        ksize: int | Sequence[int],
        strides: int | Sequence[int] | None,
        padding: str,
        data_format: str | None = _LAYOUTS[space],
        name: str | None = None,
    ) -> Tensor:
        pool = _pool1d if space == 1 else _pool
        with name_scope(name, default, [input]) as scope:
            layout = data_format or _LAYOUTS[space]
            return pool(build, space, input, ksize, strides, padding, layout, scope)

    return function


def _old_pooling(build: Any, default: str, name: str, doc: str) -> Callable[..., Tensor]:
    """The same of images, with the arguments that came first."""

    @named(name, doc)
    def function(
        value: Any,
        ksize: int | Sequence[int],
        strides: int | Sequence[int] | None,
        padding: str,
        data_format: str | None = "NHWC",
        name: str | None = None,
        input: Any = None,
    ) -> Tensor:
        value = renamed("input", input, "value", value)
        if build is ops.max_pool and 0 in per_dimension(ksize, 2, data_format, "ksize"):
            raise ValueError("ksize cannot be zero.")
        with name_scope(name, default, [value]) as scope:
            return _pool(build, 2, value, ksize, strides, padding, data_format or "NHWC", scope)

    return function


def _pool(
    build: Any, space: int, x: Any, ksize: Any, strides: Any, padding: str, layout: str, scope: str
) -> Tensor:
    sizes = per_dimension(ksize, space, layout, "ksize")
    steps = per_dimension(strides, space, layout, "strides")
    result: Tensor = build(x, ksize=sizes, strides=steps, padding=padding, data_format=layout, name=scope)
    return result


def _pool1d(
    build: Any, _: int, x: Any, ksize: Any, strides: Any, padding: str, layout: str, scope: str
) -> Tensor:
    """Sequences, pooled as images of height 1."""
    layout, axis = ("NHWC", 1) if layout == "NWC" else ("NCHW", 2)
    images = array.expand_dims(x, axis)
    sizes = [1, *per_dimension(ksize, 1, layout, "ksize")]
    steps = [1, *per_dimension(strides, 1, layout, "strides")]
    result = build(images, ksize=sizes, strides=steps, padding=padding, data_format=layout, name=scope)
    return array.squeeze(result, [axis])


def _pooling_by_rank(builds: Any, name: str, what: str) -> Callable[..., Tensor]:
    """A function that pools with that of `builds` for the rank of its input."""

    @documented("""
        Args:
          input: a tensor of rank 3, 4 or 5.
          ksize: the window: an int or a list.
          strides: how far it moves: an int or a list.
          padding: "SAME" or "VALID".
          data_format: a format of that rank; channels last if not given.
          name: name of the node.

        Raises:
          ValueError: the rank is not 3, 4 or 5.
    """)
    @named(name, f"{what} under a window, in one, two or three dimensions of space.")
    def function(
        input: Any,
        ksize: int | Sequence[int],
        strides: int | Sequence[int] | None,
        padding: str,
        data_format: str | None = None,
        name: str | None = None,
    ) -> Tensor:
        rank = as_shape(input.shape if hasattr(input, "shape") else np.shape(input)).rank
        if rank is None:
            if data_format is None:
                raise ValueError("The input must have a rank or a data format must be given.")
            rank = len(data_format)
        if not 3 <= rank <= 5:
            raise ValueError(f"Input tensor must be of rank 3, 4 or 5 but was {rank}.")
        sizes = per_dimension(ksize, rank - 2, data_format, "ksize")
        steps = per_dimension(strides, rank - 2, data_format, "strides")
        result: Tensor = builds[rank - 3](input, sizes, steps, padding, data_format, name)
        return result

    return function


# -- the mean -------------------------------------------------------------------------------------
_SEQUENCES = ("input: sequences in `data_format`", "1 or 3", '"NWC" or "NCW"', "scope")
_IMAGES = ("input: images in `data_format`", "1, 2 or 4", '"NHWC", "NCHW" or "NCHW_VECT_C"')
_VOLUMES = ("input: volumes in `data_format`", "1, 3 or 5", '"NDHWC" or "NCDHW"')
_OLD = "\n      input: another name of `value`."
_NOT_EMPTY = f"{_OLD}\n\n    Raises:\n      ValueError: the window has no elements."

avg_pool = _old_pooling(
    ops.avg_pool,
    "AvgPool",
    "avg_pool",
    _doc(
        "The mean of images",
        "value: images in `data_format`, of a float type",
        "1, 2 or 4",
        '"NHWC" or "NCHW"',
        padded="  What is padded does not count.",
        end=_OLD,
    ),
)
avg_pool1d = _pooling(1, ops.avg_pool, "AvgPool1D", "avg_pool1d", _doc("The mean of sequences", *_SEQUENCES))
avg_pool3d = _pooling(3, pool3d.avg_pool3d, "AvgPool3D", "avg_pool3d", _doc("The mean of volumes", *_VOLUMES))
avg_pool_v2 = _pooling_by_rank((avg_pool1d, avg_pool, avg_pool3d), "avg_pool_v2", "The mean")

# -- the maximum ----------------------------------------------------------------------------------
_LARGEST = "The largest element of"
max_pool = _old_pooling(
    ops.max_pool,
    "MaxPool",
    "max_pool",
    _doc(f"{_LARGEST} images", "value: images in `data_format`", *_IMAGES[1:], end=_NOT_EMPTY),
)
max_pool1d = _pooling(1, ops.max_pool, "MaxPool1d", "max_pool1d", _doc(f"{_LARGEST} sequences", *_SEQUENCES))
max_pool2d = _pooling(2, ops.max_pool, "MaxPool2d", "max_pool2d", _doc(f"{_LARGEST} images", *_IMAGES))
max_pool3d = _pooling(3, pool3d.max_pool3d, "MaxPool3D", "max_pool3d", _doc(f"{_LARGEST} volumes", *_VOLUMES))
max_pool_v2 = _pooling_by_rank((max_pool1d, max_pool2d, max_pool3d), "max_pool_v2", "The largest element")


def max_pool_with_argmax(
    input: Any,
    ksize: int | Sequence[int],
    strides: int | Sequence[int] | None,
    padding: str,
    data_format: str = "NHWC",
    Targmax: Any = None,
    name: str | None = None,
    output_dtype: Any = None,
    include_batch_in_index: bool = False,
) -> Any:
    """The largest element under a window, and its flat index.

    Args:
      input: images [batch, height, width, channels].
      ksize: the window: four numbers.
      strides: how far it moves: four numbers.
      padding: "SAME" or "VALID".
      data_format: "NHWC".
      Targmax: the type of the indices, int64 if not given.
      name: name of the node.
      output_dtype: another name of `Targmax`.
      include_batch_in_index: count through the batch, not only through one image.

    Returns:
      (output, argmax).

    Raises:
      ValueError: `data_format` is another one.
    """
    if data_format != "NHWC":
        raise ValueError("Data formats other than 'NHWC' are not yet supported")
    kind = renamed("output_dtype", output_dtype, "Targmax", Targmax)
    return pool_argmax.max_pool_with_argmax(
        input,
        ksize=ksize,
        strides=strides,
        Targmax=dtypes.int64 if kind is None else kind,
        padding=padding,
        include_batch_in_index=include_batch_in_index,
        name=name,
    )


# -- any pooling, any rank, with holes ------------------------------------------------------------
_POOLS = {
    ("MAX", 1): max_pool,
    ("MAX", 2): max_pool,
    ("MAX", 3): max_pool3d,
    ("AVG", 1): avg_pool,
    ("AVG", 2): avg_pool,
    ("AVG", 3): avg_pool3d,
}


def pool(
    input: Any,
    window_shape: Sequence[int],
    pooling_type: str,
    padding: str,
    dilation_rate: Any = None,
    strides: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Any = None,
) -> Tensor:
    """Pooling in one, two or three dimensions of space, strided or with holes.

    Args:
      input: [batch, space..., channels], or [batch, channels, space...].
      window_shape: the window, one number per dimension of space.
      pooling_type: "AVG" or "MAX".
      padding: "SAME" or "VALID".
      dilation_rate: how far the elements of the window are apart.
      strides: how far the window moves.
      name: name of the scope.
      data_format: "NWC", "NCW", "NHWC", "NCHW", "NDHWC" or "NCDHW"; channels last if not given.
      dilations: another name of `dilation_rate`.

    Raises:
      ValueError: arguments do not fit together.
    """
    rates = renamed("dilations", dilations, "dilation_rate", dilation_rate)
    with name_scope(name, f"{pooling_type.lower()}_pool", [input]) as scope:
        tensor = convert_to_tensor(input, name="input")
        space = len(window_shape)
        if not 1 <= space <= 3:
            raise ValueError("It is required that 1 <= num_spatial_dims <= 3.")
        tensor.shape.with_rank(space + 2)
        strides, rates = strides_and_rates(space, strides, rates)
        if padding == "SAME" and np.any(rates > 1):
            raise ValueError("pooling with SAME padding is not implemented for dilation_rate > 1")
        if np.any(strides > window_shape):
            raise ValueError(
                "strides > window_shape not supported due to inconsistency between CPU and GPU "
                "implementations"
            )
        if (pooling_type, space) not in _POOLS:
            raise ValueError(f"{space}-D {pooling_type} pooling is not supported.")
        slide = _slider(space, pooling_type, window_shape, strides, data_format, scope)
        dims = spatial_dimensions(space, data_format)
        return with_space_to_batch(tensor, rates, padding, slide, window_shape, dims)


def _slider(space: int, kind: str, window: Any, strides: Any, data_format: Any, scope: str) -> Any:
    build: Any = _POOLS[kind, space]
    sizes = per_dimension(list(window), space, data_format, "window_shape")
    steps = per_dimension(list(strides), space, data_format, "strides")
    if space > 1:
        return lambda x, _, padding: build(x, sizes, steps, padding, data_format, scope)
    if data_format not in (None, "NWC", "NCW"):
        raise ValueError('data_format must be either "NWC" or "NCW".')
    layout, axis = ("NCHW", 2) if data_format == "NCW" else ("NHWC", 1)

    def slide(x: Any, _: int, padding: str) -> Tensor:
        images = array.expand_dims(x, axis)
        result = build(images, [1, *sizes], [1, *steps], padding, layout, scope)
        return array.squeeze(result, [axis])

    return slide
