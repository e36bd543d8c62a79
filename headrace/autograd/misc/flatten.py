"""A structure of arrays as one vector, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import headrace.autograd.numpy as np
from headrace.autograd.builtins import dict as traced_dict
from headrace.autograd.builtins import isinstance as is_instance
from headrace.autograd.builtins import list as traced_list
from headrace.autograd.builtins import tuple as traced_tuple
from headrace.autograd.tracer import getval

Unflatten = Callable[[Any], Any]


def flatten(value: Any) -> tuple[Any, Unflatten]:
    """(the vector of all numbers in it, what makes the structure of such a vector)."""
    kind = type(getval(value))
    if kind in (list, tuple):
        items, make = list(value), traced_list if kind is list else traced_tuple
        return _joined(items, make)
    if kind is dict:
        keys = sorted(value)
        return _joined([value[k] for k in keys], lambda found: traced_dict(zip(keys, found)))
    if is_instance(value, (np.ndarray, float, complex)) or np.shape(value) == ():
        return _of_array(value)
    raise TypeError(f"flatten: a structure of arrays, not {kind}")


def _joined(items: list[Any], make: Callable[[Any], Any]) -> tuple[Any, Unflatten]:
    if not items:
        return np.zeros((0,)), lambda vect: make([])
    parts = [flatten(item) for item in items]
    ends = [0]
    for vector, _ in parts:
        ends.append(ends[-1] + vector.shape[0])

    def unflatten(vect: Any) -> Any:
        return make([back(vect[a:b]) for (_, back), a, b in zip(parts, ends, ends[1:])])

    return np.concatenate([vector for vector, _ in parts]), unflatten


def _of_array(value: Any) -> tuple[Any, Unflatten]:
    shape, is_complex = np.shape(value), np.iscomplexobj(value)
    vector = np.reshape(np.array(value) if not shape else value, (-1,))
    if not is_complex:
        return vector, lambda vect: np.reshape(vect, shape) if shape else vect[0]
    n = vector.shape[0]

    def unflatten(vect: Any) -> Any:
        found = vect[:n] + 1j * vect[n:]
        return np.reshape(found, shape) if shape else found[0]

    return np.concatenate([np.real(vector), np.imag(vector)]), unflatten
