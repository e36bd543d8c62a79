"""Python functions as nodes.  The graph carries a token; the function itself stays in this process."""

from __future__ import annotations

import itertools
import threading

import numpy as np

from headrace.core import dtypes
from headrace.core.denormals import flushed
from headrace.core.errors import (
    InvalidArgumentError,
    OutOfRangeError,
    ResourceExhaustedError,
    UnimplementedError,
    UnknownError,
    require,
)
from headrace.core.float_errors import as_outside
from headrace.core.shapes import UNKNOWN
from headrace.ops.declaration.building.literals import to_array
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import Sample
from headrace.ops.declaration.signature import String, Types
from headrace.ops.declaration.traits import BLOCKING, HOST, PYTHON, STATEFUL


class Functions:
    """Functions by token.  A token lives as long as the graph that made it keeps it."""

    def __init__(self):
        self._by_token, self._numbers, self._lock = {}, itertools.count(), threading.Lock()

    def add(self, function) -> str:
        with self._lock:
            token = f"pyfunc_{next(self._numbers)}"
            self._by_token[token] = function
        return token

    def remove(self, token) -> None:
        self._by_token.pop(token, None)

    def find(self, token):
        found = self._by_token.get(token)
        require(found is not None, f"callback {token} is not found")
        return found

    def __len__(self):
        return len(self._by_token)


FUNCTIONS = Functions()

# What a Python exception of the user's function means to the step; any other one is unknown to it,
# tf.errors' own among them.
_MEANINGS = (
    (StopIteration, OutOfRangeError),
    (TypeError, InvalidArgumentError),
    (ValueError, InvalidArgumentError),
    (MemoryError, ResourceExhaustedError),
    (NotImplementedError, UnimplementedError),
    (Exception, UnknownError),
)


def call(token, arrays, types, *before):
    """Run the function, with `before` and the arrays; its results as values of the promised types."""
    function = FUNCTIONS.find(token)
    try:
        with flushed(False), as_outside():
            results = function(*before, *[_argument(a) for a in arrays])
    except Exception as error:
        raise _translated(error) from error
    if results is None:
        results = ()
    elif not isinstance(results, (list, tuple)) or (len(types) == 1 and len(results) != 1):
        results = (results,)
    require(
        len(results) == len(types),
        f"{token} returns {len(results)} values, but expects to see {len(types)} values.",
    )
    return [_value(i, r, dtype) for i, (r, dtype) in enumerate(zip(results, types))]


def _argument(array):
    """The function may keep or change what it gets, so it gets its own; scalars stay arrays."""
    return np.array(array) if array.ndim else array[()]


def _translated(error):
    ours = next(ours for kind, ours in _MEANINGS if isinstance(error, kind))
    return ours(None, None, f"{type(error).__name__}: {error}")


def _value(position, result, dtype):
    if isinstance(result, np.ndarray) and result.dtype == dtype.numpy and dtype.kind != "s":
        return np.array(result)
    try:
        array, found = to_array(result, None)
    except (TypeError, ValueError) as error:
        raise UnimplementedError(None, None, f"Unsupported object type: {error}") from None
    if isinstance(result, (bool, int, float, complex)) and found.kind in "biufc":
        array, found = np.asarray(result).astype(dtype.numpy), dtype
    if found is not dtype and not isinstance(result, np.ndarray) and not hasattr(result, "dtype"):
        array, found = array.astype(dtype.numpy), dtype
    require(
        found is dtype, f"{position}-th value returned by pyfunc is {found.name}, but expects {dtype.name}"
    )
    return array


def outputs(input, *, Tout):
    return [UNKNOWN] * len(Tout)


def _calling(name, traits, **attrs):
    attrs = {"token": String(), **attrs, "Tin": Types(min=0), "Tout": Types(min=0)}
    traits = {*traits, BLOCKING, HOST, PYTHON}
    return op(name, "input: Tin -> output: Tout", attrs=attrs, traits=traits, shape=outputs)


@_calling("PyFunc", {STATEFUL})
def py_func(input, *, token, Tout):
    """Call a Python function with the values of the inputs."""
    return call(token, input, Tout)


@_calling("PyFuncStateless", set())
def py_func_stateless(input, *, token, Tout):
    """Call a Python function whose result depends on its arguments alone."""
    return call(token, input, Tout)


@_calling("EagerPyFunc", {STATEFUL}, is_async=False)
def eager_py_func(ctx, input, *, token, Tout):
    """Call a Python function that makes eager tensors of the inputs; its gradient finds in the step what it
    recorded (headrace.eager.py_function)."""
    return call(token, input, Tout, ctx.local)


py_func.no_gradient()
py_func_stateless.no_gradient()


@eager_py_func.gradient
def _(node, *dys):
    return FUNCTIONS.find(node.attrs["token"]).gradient(node, dys)


@py_func_stateless.samples
def _(rng):
    token = FUNCTIONS.add(lambda x: x * 2)
    yield Sample([rng.normal(size=(2, 3))], token=token, Tout=[dtypes.float64], dtypes=False)
