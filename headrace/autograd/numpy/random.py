"""np.random's names.  Its functions have no derivatives; a box among their arguments is an error."""

from typing import Any

import numpy.random as npr

from headrace.autograd.numpy.numpy_wrapper import wrap_namespace

wrap_namespace(vars(npr), globals())


def __getattr__(name: str) -> Any:
    raise AttributeError(f"module 'autograd.numpy.random' has no attribute {name!r}")
