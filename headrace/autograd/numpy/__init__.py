"""NumPy's interface, for functions whose derivatives are wanted: `import headrace.autograd.numpy as np`."""

from __future__ import annotations

from typing import Any

from headrace.autograd.numpy import (
    fft,
    linalg,
    numpy_boxes,
    numpy_vspaces,
    numpy_wrapper,
    random,
    rules_elementwise,
    rules_products,
    rules_reductions,
    rules_shaping,
)

ROOMS = (fft, linalg, numpy_boxes, numpy_vspaces, random)
RULES = (rules_elementwise, rules_products, rules_reductions, rules_shaping)
globals().update({k: v for k, v in vars(numpy_wrapper).items() if k not in globals() and k[:2] != "__"})
__version__ = numpy_wrapper.__version__


def __getattr__(name: str) -> Any:
    raise AttributeError(f"module 'autograd.numpy' has no attribute {name!r}")
