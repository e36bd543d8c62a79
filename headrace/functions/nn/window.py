"""Windows as tf.nn's functions take them: one number, one per dimension of space, or one per
dimension of the tensor; data formats; paddings given as numbers."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from typing import Any

import numpy as np


def per_dimension(value: Any, space: int, data_format: str | None, name: str) -> list[Any]:
    """`value` as one entry per dimension; batch and channels get 1."""
    if value is None:
        value = [1]
    elif not isinstance(value, Sized):
        value = [value]
    count = len(value)
    given = list(value)
    if count == space + 2:
        return given
    if count == 1:
        given = given * space
    elif count != space:
        raise ValueError(f"{name} should be of length 1, {space} or {space + 2} but was {count}")
    return [1, 1, *given] if channels_first(data_format) else [1, *given, 1]


def channels_first(data_format: str | None) -> bool:
    return data_format is not None and data_format.startswith("NC")


def as_images(data_format: str | None, old_names: bool = True) -> tuple[str, int]:
    """A format of sequences (NWC, NCW) as one of images, and where their height of 1 stands."""
    if data_format in (None, "NWC") or (old_names and data_format == "NHWC"):
        return "NHWC", 1
    if data_format == "NCW" or (old_names and data_format == "NCHW"):
        return "NCHW", 2
    raise ValueError('data_format must be "NWC" or "NCW".')


def split_padding(padding: Any) -> tuple[Any, list[Any]]:
    """(padding, explicit_paddings) of an op, from a name or one pair per dimension."""
    if isinstance(padding, str) and padding == "EXPLICIT":
        raise ValueError(
            '"EXPLICIT" is not a valid value for the padding parameter: give the paddings themselves, '
            "as a list of pairs."
        )
    if not isinstance(padding, (list, tuple)):
        return padding, []
    flat: list[Any] = []
    for i, pair in enumerate(padding):
        prefix = (
            "A list of paddings has one pair of numbers for each dimension. "
            f"Element with index {i} of padding"
        )
        if not isinstance(pair, (list, tuple)):
            raise ValueError(f"{prefix} is not a list/tuple")
        if len(pair) != 2:
            raise ValueError(f"{prefix} has size {len(pair)}")
        flat += pair
    if len(padding) != 4:
        raise ValueError(f"When padding is a list, it must be of size 4. Got padding of size: {len(padding)}")
    return "EXPLICIT", flat


def strides_and_rates(space: int, strides: Any, rates: Any) -> tuple[Any, Any]:
    """Strides and dilation rates as int32 arrays; only one of them may be above 1."""
    found = []
    for name, values in (("dilation_rate", rates), ("strides", strides)):
        values = [1] * space if values is None else values
        if len(values) != space:
            raise ValueError(f"len({name})={len(values)} but should be {space}")
        array = np.array(values, dtype=np.int32)
        if np.any(array < 1):
            raise ValueError(f"all values of {name} must be positive")
        found.append(array)
    if all(np.any(array > 1) for array in found):
        raise ValueError("strides > 1 not supported in conjunction with dilation_rate > 1")
    return found[1], found[0]


def spatial_dimensions(space: int, data_format: str | None) -> Sequence[int]:
    """The numbers of the dimensions of space."""
    first = 2 if channels_first(data_format) else 1
    return range(first, first + space)
