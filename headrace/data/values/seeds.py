"""The two seeds of a dataset op, as tensors."""

from __future__ import annotations

from typing import Any

from headrace.core.dtypes import int64
from headrace.functions.array.indexing import where
from headrace.functions.random import random_seed
from headrace.functions.values.structure import name_scope
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math.comparison import equal
from headrace.ops.math.logical import logical_and

_LARGEST = 2**31 - 1


def get_seed(seed: Any) -> tuple[Any, Any]:
    """As `tf.get_seed`, for a seed that may be a tensor: two zeros would mean "different every time"."""
    first, second = random_seed.get_seed(seed)
    one = convert_to_tensor(0 if first is None else first, int64, name="seed")
    if second is None:
        return one, convert_to_tensor(0, int64, name="seed2")
    with name_scope("seed2") as scope:
        two = convert_to_tensor(second, int64)
        zeros = logical_and(equal(one, 0), equal(two, 0))
        return one, where(zeros, convert_to_tensor(_LARGEST, int64), two, name=scope)
