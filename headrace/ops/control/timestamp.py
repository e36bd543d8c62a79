"""The time at which a step runs."""

from __future__ import annotations

import time

import numpy as np

from headrace.ops.declaration.declare import op
from headrace.ops.declaration.shape_rules import scalar
from headrace.ops.declaration.traits import DIFFERENT_EACH_TIME, HOST, STATEFUL


@op("Timestamp", "-> ts: float64", traits={STATEFUL, HOST, DIFFERENT_EACH_TIME}, shape=scalar)
def timestamp():
    """Seconds since the beginning of 1970."""
    return np.array(time.time())


timestamp.no_gradient()
