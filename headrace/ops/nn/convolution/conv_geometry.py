"""What convolutions have in common: the limits of their options, the windows of a call, shapes.

Works for any number of spatial dimensions; `rank` is theirs plus batch and channels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.errors import require
from headrace.core.shapes import Dim, Shape
from headrace.ops.declaration.shape_checks import described_by, with_rank
from headrace.ops.nn.window import Window, channel_axis, layout, places, spatial, window


def check_options(
    strides: Sequence[int],
    dilations: Sequence[int],
    padding: str,
    explicit_paddings: Sequence[int],
    data_format: str,
) -> None:
    """The limits that TF sets to the options of a convolution."""
    rank = len(data_format)
    for name, values in (("strides", strides), ("dilations", dilations)):
        require(len(values) == rank, f"Sliding window {name} field must specify {rank} dimensions")
        require(
            values[0] == values[channel_axis(data_format)] == 1,
            f"Current implementation does not yet support {name} in the batch and depth dimensions.",
        )
    what = "Row and column" if rank == 4 else "Spatial"
    require(min(spatial(strides, data_format)) > 0, f"{what} strides should be larger than 0.")
    require(min(spatial(dilations, data_format)) > 0, "Dilated rates should be larger than 0.")
    check_paddings(padding, explicit_paddings, data_format)


def check_paddings(padding: str, explicit_paddings: Sequence[int], data_format: str) -> None:
    if padding != "EXPLICIT":
        require(
            not explicit_paddings,
            "explicit_paddings attribute must be empty if the padding attribute is not EXPLICIT",
        )
        return
    rank, given = len(data_format), len(explicit_paddings)
    require(
        given == 2 * rank, f"explicit_paddings attribute must contain {2 * rank} values, but got: {given}"
    )
    require(min(explicit_paddings) >= 0, "All elements of explicit_paddings must be nonnegative")
    pairs = list(zip(explicit_paddings[::2], explicit_paddings[1::2]))
    require(
        not any(pairs[0]) and not any(pairs[channel_axis(data_format)]),
        "Nonzero explicit padding in the batch or depth dimensions is not supported",
    )


def spatial_pads(explicit_paddings: Sequence[int], data_format: str) -> Any:
    pairs = list(zip(explicit_paddings[::2], explicit_paddings[1::2]))
    return spatial(pairs or [(0, 0)] * len(data_format), data_format)


def windows_of(sizes: Sequence[int], filter_sizes: Sequence[int], **attrs: Any) -> list[Window]:
    """The geometry of a call whose input has these spatial sizes; `attrs` are those of the op."""
    explicit_paddings = attrs.get("explicit_paddings", ())
    data_format, padding = attrs["data_format"], attrs["padding"]
    check_options(attrs["strides"], attrs["dilations"], padding, explicit_paddings, data_format)
    return [window(*each) for each in _per_dimension(sizes, filter_sizes, attrs)]


def places_of(sizes: Sequence[Dim], filter_sizes: Sequence[Dim], **attrs: Any) -> list[Dim]:
    """The same for a shape rule: how many places the window takes in each dimension."""
    return [places(*each) for each in _per_dimension(sizes, filter_sizes, attrs)]


def _per_dimension(sizes: Sequence[Any], filter_sizes: Sequence[Any], attrs: dict[str, Any]) -> list[Any]:
    """(size, filter's size, stride, padding, dilation, zeros before and after) of each dimension of space."""
    data_format, padding = attrs["data_format"], attrs["padding"]
    steps, rates = spatial(attrs["strides"], data_format), spatial(attrs["dilations"], data_format)
    pads = spatial_pads(attrs.get("explicit_paddings", ()), data_format)
    return [(n, k, s, padding, d, p) for n, k, s, d, p in zip(sizes, filter_sizes, steps, rates, pads)]


def check_depths(depth: Dim, filter_depth: Dim, outputs: Dim) -> None:
    """Channels split evenly into groups; each group has its share of the outputs."""
    if depth is None or filter_depth is None:
        return
    require(filter_depth != 0, "Depth of filter must not be 0")
    require(
        depth % filter_depth == 0,
        f"Depth of input ({depth}) is not a multiple of input depth of filter ({filter_depth})",
        f"the input has {depth} channels, the filter is made for {filter_depth}",
    )
    if depth != filter_depth and outputs is not None:
        require(depth != 0, "Number of groups must not be 0")
        check_groups(depth, filter_depth, outputs)


def check_groups(depth: int, filter_depth: int, outputs: int) -> None:
    groups = depth // filter_depth
    require(
        groups == 0 or outputs % groups == 0,
        f"Depth of output ({outputs}) is not a multiple of the number of groups ({groups})",
    )


def conv_shape(name: str, input: Shape, filter: Shape, **options: Any) -> Shape:
    """The shape rule of a convolution."""
    data_format = options["data_format"]
    rank = len(data_format)
    input, filter = with_rank(input, rank), with_rank(filter, rank)
    for what, key in (("dilation", "dilations"), ("stride", "strides")):
        given = len(options[key])
        require(
            given == rank, f"{name} requires the {what} attribute to contain {rank} values, but got: {given}"
        )
    check_depths(input.sizes[channel_axis(data_format)], *filter.sizes[-2:])
    check_paddings(options["padding"], options.get("explicit_paddings", ()), data_format)
    space = places_of(spatial(input.sizes, data_format), filter.sizes, **options)
    return layout(input.sizes[0], space, filter.sizes[-1], data_format)


def last_sizes(sizes: Any, data_format: str) -> list[int]:
    """A vector of sizes in the order (batch, space..., channels)."""
    plain = [int(n) for n in sizes]
    require(min(plain, default=0) >= 0, f"Dimension {min(plain, default=0)} must be >= 0")
    if channel_axis(data_format) == 1 and len(plain) > 1:
        return [plain[0], *plain[2:], plain[1]]
    return plain


def backprop_windows(
    label: str,
    x_sizes: Sequence[int],
    w_sizes: Sequence[int],
    dy_sizes: Sequence[int],
    depthwise: bool = False,
    **options: Any,
) -> list[Window]:
    """The geometry of a gradient, after the checks that TF makes.  Sizes are channels last."""
    rank = len(options["data_format"])
    for name, sizes in (("input", x_sizes), ("filter", w_sizes), ("out_backprop", dy_sizes)):
        require(len(sizes) == rank, f"{label}: {name} must be {rank}-dimensional")
    require(
        x_sizes[0] == dy_sizes[0],
        f"{label}: input and out_backprop must have the same batch size, "
        f"input batch: {x_sizes[0]} outbackprop batch: {dy_sizes[0]} batch_dim: 0",
    )
    if depthwise:
        require(x_sizes[-1] == w_sizes[-2], f"{label}: input and filter must have the same in_depth")
        outputs = w_sizes[-2] * w_sizes[-1]
    else:
        require(
            w_sizes[-2] and x_sizes[-1] % w_sizes[-2] == 0,
            f"{label}: input depth must be evenly divisible by filter depth",
        )
        outputs = w_sizes[-1]
        check_groups(x_sizes[-1], w_sizes[-2], outputs)
    require(outputs == dy_sizes[-1], f"{label}: filter and out_backprop must have the same out_depth")
    windows = windows_of(x_sizes[1:-1], w_sizes, **options)
    for axis, (w, found) in enumerate(zip(windows, dy_sizes[1:-1]), 1):
        require(
            w.count == found,
            f"{label}: Size of out_backprop doesn't match computed: actual = {found}, "
            f"computed = {w.count} spatial_dim: {axis} input: {x_sizes[axis]} "
            f"filter: {w.size} output: {found} stride: {w.stride} dilation: {w.dilation}",
        )
    return windows


def sizes_shape(sizes: Any, rank: int) -> Shape:
    """The shape rule of a gradient whose result has the sizes that an input holds."""
    return with_rank(described_by(sizes), rank)


def require_vector(label: str, name: str, sizes: Any) -> None:
    require(sizes.ndim == 1, f"{label}: {name} input must be 1-dim, not {sizes.ndim}")
