"""tensorflow.python.layers.utils: what arguments of layers mean."""

from __future__ import annotations

from typing import Any

_LETTERS = {3: "W", 4: "HW", 5: "DHW"}


def convert_data_format(data_format: str, ndim: int) -> str:
    """NHWC and its kin, for channels_last or channels_first and a number of dimensions."""
    if data_format not in ("channels_last", "channels_first"):
        raise ValueError("Invalid data_format:", data_format)
    if ndim not in _LETTERS:
        raise ValueError("Input rank not supported:", ndim)
    space = _LETTERS[ndim]
    return f"N{space}C" if data_format == "channels_last" else f"NC{space}"


def normalize_tuple(value: Any, n: int, name: str) -> tuple[int, ...]:
    """n whole numbers, of one or of n."""
    if isinstance(value, int):
        return (value,) * n
    complaint = f"The `{name}` argument must be a tuple of {n} integers. Received: {value}"
    try:
        values = tuple(value)
    except TypeError:
        raise ValueError(complaint) from None
    if len(values) != n:
        raise ValueError(complaint)
    for single in values:
        try:
            int(single)
        except (ValueError, TypeError):
            raise ValueError(f"{complaint} including element {single} of type {type(single)}") from None
    return values


def _one_of(name: str, first: str, second: str, shown: str) -> Any:
    def normalize(value: str) -> str:
        chosen = value.lower()
        if chosen not in (first, second):
            raise ValueError(f"The `{name}` argument must be one of {shown}. Received: {value}")
        return chosen

    return normalize


normalize_data_format = _one_of(
    "data_format", "channels_first", "channels_last", '"channels_first", "channels_last"'
)
normalize_padding = _one_of("padding", "valid", "same", '"valid", "same"')


def conv_output_length(
    input_length: int | None, filter_size: int, padding: str, stride: int, dilation: int = 1
) -> int | None:
    """How long a convolution's output is."""
    if input_length is None:
        return None
    reach = filter_size + (filter_size - 1) * (dilation - 1) - 1
    at_stride_1 = input_length + {"same": 0, "valid": -reach, "full": reach}[padding]
    return (at_stride_1 + stride - 1) // stride


def conv_input_length(output_length: int | None, filter_size: int, padding: str, stride: int) -> int | None:
    """How long the input is whose convolution is this long."""
    if output_length is None:
        return None
    pad = {"same": filter_size // 2, "valid": 0, "full": filter_size - 1}[padding]
    return (output_length - 1) * stride - 2 * pad + filter_size


def deconv_output_length(input_length: int | None, filter_size: int, padding: str, stride: int) -> int | None:
    """How long a transposed convolution's output is."""
    if input_length is None:
        return None
    more = {"valid": max(filter_size - stride, 0), "full": -(stride + filter_size - 2), "same": 0}[padding]
    return input_length * stride + more
