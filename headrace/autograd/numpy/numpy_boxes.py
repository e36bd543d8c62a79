"""The box of arrays and numbers: NumPy's operators and methods, as primitives."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.autograd.builtins import SequenceBox
from headrace.autograd.core import primitive
from headrace.autograd.numpy import numpy_wrapper as anp
from headrace.autograd.numpy.numpy_vspaces import RESULTS
from headrace.autograd.tracer import Box, box_type_mappings, trace_primitives_map

_known = (np.ndarray, np.generic, int, float, complex, list, tuple)


def _understood(other: Any) -> bool:
    """Whether the operator is ours: a container of arrays of another library deals with boxes itself."""
    return (
        type(other) in box_type_mappings or isinstance(other, _known) or not hasattr(other, "__array_ufunc__")
    )


class ArrayBox(Box):
    __slots__ = ()
    __array_priority__ = 100.0
    _value: Any

    @primitive
    def __getitem__(A: Any, idx: Any) -> Any:
        return A[idx]

    @property
    def shape(self) -> tuple[int, ...]:
        value = self._value
        return value.shape if hasattr(value, "shape") else ()

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))

    @property
    def dtype(self) -> Any:
        value = self._value
        return value.dtype if hasattr(value, "dtype") else np.asarray(value).dtype

    @property
    def T(self) -> Any:
        return anp.transpose(self)

    @property
    def real(self) -> Any:
        return anp.real(self)

    @property
    def imag(self) -> Any:
        return anp.imag(self)

    def __len__(self) -> int:
        return len(self._value)

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self._value)))

    def astype(self, *args: Any, **kwargs: Any) -> Any:
        return anp._astype(self, *args, **kwargs)

    def item(self) -> Any:
        if self.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return anp.reshape(self, ())

    def conj(self) -> Any:
        return anp.conj(self)

    conjugate = conj

    def copy(self) -> Any:
        return anp.array(self)

    def flatten(self) -> Any:
        return anp.reshape(self, (-1,))

    def reshape(self, *shape: Any, order: str = "C") -> Any:
        return anp.reshape(self, shape[0] if len(shape) == 1 else shape, order=order)

    def transpose(self, *axes: Any) -> Any:
        if len(axes) == 1 and not isinstance(axes[0], int):
            axes = axes[0]
        return anp.transpose(self, axes or None)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """NumPy's own ufunc met a box."""
        found = trace_primitives_map.get(ufunc)
        if method != "__call__" or found is None:
            return NotImplemented
        if not all(map(_understood, inputs)):
            return NotImplemented
        return found(*inputs, **{k: v for k, v in kwargs.items() if k != "out" or v is not None})

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """NumPy's own function met a box."""
        found = trace_primitives_map.get(func)
        return NotImplemented if found is None else found(*args, **kwargs)

    # -- operators -------------------------------------------------------------------------------
    def __neg__(self) -> Any:
        return anp.negative(self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return anp.absolute(self)

    def __float__(self) -> float:
        return float(self._value)

    def __int__(self) -> int:
        return int(self._value)

    def __hash__(self) -> int:
        return id(self)


def _operator(name: str, function: Any, is_reversed: bool = False) -> None:
    if is_reversed:

        def operator(self: Any, other: Any) -> Any:
            return function(other, self) if _understood(other) else NotImplemented
    else:

        def operator(self: Any, other: Any) -> Any:
            return function(self, other) if _understood(other) else NotImplemented

    operator.__name__ = name
    setattr(ArrayBox, name, operator)


_ARITHMETIC = {
    "add": anp.add,
    "sub": anp.subtract,
    "mul": anp.multiply,
    "truediv": anp.true_divide,
    "div": anp.divide,
    "pow": anp.power,
    "mod": anp.mod,
    "matmul": anp.matmul,
    "floordiv": anp.floor_divide,
}
_COMPARISONS = {
    "eq": anp.equal,
    "ne": anp.not_equal,
    "gt": anp.greater,
    "ge": anp.greater_equal,
    "lt": anp.less,
    "le": anp.less_equal,
}
for _name, _function in _ARITHMETIC.items():
    _operator(f"__{_name}__", _function)
    _operator(f"__r{_name}__", _function, is_reversed=True)
for _name, _function in _COMPARISONS.items():
    _operator(f"__{_name}__", _function)


def _method(name: str) -> None:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(anp, name)(self, *args, **kwargs)

    method.__name__ = name
    setattr(ArrayBox, name, method)


_METHODS = (
    "all any argmax argmin argpartition argsort nonzero searchsorted round clip compress cumprod cumsum "
    "diagonal max "
    "mean min prod ptp ravel repeat squeeze std sum swapaxes take trace var"
)
for _name in _METHODS.split():
    if hasattr(anp, _name):
        _method(_name)

ArrayBox.register(np.ndarray)
_NUMBERS: tuple[type, ...] = (
    float,
    np.longdouble,
    np.float64,
    np.float32,
    np.float16,
    complex,
    np.clongdouble,
    np.complex64,
    np.complex128,
)
for _type in _NUMBERS:
    ArrayBox.register(_type)
for _result in RESULTS:
    SequenceBox.register(_result)
