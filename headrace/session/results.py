"""Values as the user gets them: scalars as NumPy scalars, strings as bytes, arrays that are his own.

A fetched array never changes afterwards, and the user may write into it: it is handed out as it is
only where nobody else holds it, else as a copy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core.dtypes import DType
from headrace.core.ownership import holders, is_changeable


def to_user(values: list[Any], place: int, dtype: DType) -> Any:
    """Take value `place` out of `values` and give it away."""
    is_sole = holders(values, place) == 1
    value = values[place]
    values[place] = None
    if not isinstance(value, np.ndarray):
        return value
    if value.ndim == 0:
        return value[()]
    if value.base is not None:
        # A view that nobody else has may be given away if nobody else has what it looks into.
        owner = [value.base]
        is_sole = is_sole and holders(owner, 0) == 2 and isinstance(owner[0], np.ndarray)
        is_sole = is_sole and is_changeable(owner[0])
    return value if is_sole and value.flags.writeable else np.array(value)
