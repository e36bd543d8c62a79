"""tf.contrib.util.loader: native ops of contrib's packages, none of which are here.

A package may have much that needs no native code: loading it is no error, using one of its native ops is.
"""

from __future__ import annotations

import os
from typing import Any

from headrace.functions.platform import installation


def load_op_library(path: Any) -> Any:
    """None for a library that the wheel has and we do not; another one is refused as always."""
    if not os.path.exists(path):
        return None
    return installation.load_op_library(path)
