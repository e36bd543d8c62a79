"""Windows as layers take them: sizes as one number or one per dimension, names of paddings and
formats, and lengths of what comes out."""

from __future__ import annotations

from typing import Any

_LETTERS = {3: "W", 4: "HW", 5: "DHW"}


def sizes(value: Any, count: int, name: str) -> tuple[int, ...]:
    """`value` as a tuple of `count` integers; `name` is the argument it was given for."""
    if isinstance(value, int):
        return (value,) * count
    fault = f"The `{name}` argument must be a tuple of {count} integers. Received: {value}"
    try:
        found = tuple(value)
    except TypeError:
        raise ValueError(fault) from None
    if len(found) != count:
        raise ValueError(fault)
    for size in found:
        try:
            int(size)
        except (ValueError, TypeError):
            raise ValueError(f"{fault} including element {size} of type {type(size)}") from None
    return found


def padding_name(value: Any) -> str:
    """valid, same or causal, in lower case."""
    padding = value.lower() if isinstance(value, str) else str(value)
    if padding not in ("valid", "same", "causal"):
        raise ValueError(
            f'The `padding` argument must be "valid", "same", a list of pairs, or for Conv1D "causal"; not '
            f"{padding!r}"
        )
    return padding


def format_name(value: Any) -> str:
    """channels_last or channels_first, in lower case; the first one if nothing is said."""
    value = value or "channels_last"
    data_format = value.lower() if isinstance(value, str) else str(value)
    if data_format not in ("channels_first", "channels_last"):
        raise ValueError(
            f'The `data_format` argument must be one of "channels_first", "channels_last". Received: {value}'
        )
    return data_format


def op_format(data_format: str, rank: int) -> str:
    """The format as ops call it: NHWC, NCHW, ... for a tensor of this rank."""
    if rank not in _LETTERS:
        raise ValueError("Input rank not supported:", rank)
    space = _LETTERS[rank]
    return f"N{space}C" if data_format == "channels_last" else f"NC{space}"


def output_length(
    length: int | None, window: int, padding: str, stride: int, dilation: int = 1
) -> int | None:
    """How often a window fits along a dimension."""
    if length is None:
        return None
    reach = (window - 1) * dilation
    if padding == "valid":
        length -= reach
    elif padding == "full":
        length += reach
    return (length + stride - 1) // stride


def transposed_length(
    length: Any, window: int, padding: str, stride: int, extra: int | None = None, dilation: int = 1
) -> Any:
    """The length that a window of this stride came from; `length` may be a tensor."""
    if length is None:
        return None
    window += (window - 1) * (dilation - 1)
    if extra is not None:
        pad = {"same": window // 2, "valid": 0, "full": window - 1}[padding]
        return (length - 1) * stride + (window - 2 * pad + extra)
    if padding == "valid":
        return length * stride + max(window - stride, 0)
    if padding == "full":
        return length * stride - (stride + window - 2)
    return length * stride
