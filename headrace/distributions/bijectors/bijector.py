"""Bijectors: invertible functions that know how they stretch space.

A subclass gives `_forward`, `_inverse`, and the logarithm of the Jacobian's determinant one way or the other.
What was computed for a tensor is kept, so that the inverse of an output is the input itself.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.shapes import Shape
from headrace.distributions.shapes import maybe_get_static_value
from headrace.functions.array.array import broadcast_static_shape, get_static_value, ones, rank, shape
from headrace.functions.array.checks import assert_greater_equal
from headrace.functions.array.rank_checks import assert_rank
from headrace.functions.math.math import range_
from headrace.functions.math.reduce import reduce_sum
from headrace.functions.platform.scopes import control_dependencies, is_tensor, name_scope
from headrace.functions.values.conversion import convert_to_tensor

_WORDS = (re.compile("(.)([A-Z][a-z]+)"), re.compile("([a-z0-9])([A-Z])"))


def _snake(name: str) -> str:
    for words in _WORDS:
        name = words.sub(r"\1_\2", name)
    return name.lower()


class _Known:
    """An input, its output, and how it is stretched there, as far as it was computed."""

    def __init__(self, x: Any = None, y: Any = None) -> None:
        self.x, self.y = x, y
        self.ildj: dict[Any, Any] = {}


class Bijector:
    """An invertible function of tensors."""

    def __init__(
        self,
        graph_parents: list[Any] | None = None,
        is_constant_jacobian: bool = False,
        validate_args: bool = False,
        dtype: Any = None,
        forward_min_event_ndims: int | None = None,
        inverse_min_event_ndims: int | None = None,
        name: str | None = None,
    ) -> None:
        self._graph_parents = graph_parents or []
        least = _least_ndims(forward_min_event_ndims, inverse_min_event_ndims)
        self._forward_min_event_ndims, self._inverse_min_event_ndims = least
        self._is_constant_jacobian, self._validate_args = is_constant_jacobian, validate_args
        self._dtype = dtype
        self._constant_ildj_map: dict[Any, Any] = {}
        self._by_input: dict[Any, _Known] = {}
        self._by_output: dict[Any, _Known] = {}
        self._name = name or _snake(type(self).__name__.lstrip("_"))
        for i, tensor in enumerate(self._graph_parents):
            if tensor is None or not is_tensor(tensor):
                raise ValueError(f"Graph parent item {i} is not a Tensor; {tensor}.")

    @property
    def graph_parents(self) -> list[Any]:
        return self._graph_parents

    @property
    def forward_min_event_ndims(self) -> int:
        return self._forward_min_event_ndims

    @property
    def inverse_min_event_ndims(self) -> int:
        return self._inverse_min_event_ndims

    @property
    def is_constant_jacobian(self) -> bool:
        return self._is_constant_jacobian

    @property
    def _is_injective(self) -> bool:
        return True

    @property
    def validate_args(self) -> bool:
        return self._validate_args

    @property
    def dtype(self) -> Any:
        return self._dtype

    @property
    def name(self) -> str:
        return self._name

    # -- shapes --------------------------------------------------------------------------------
    def _forward_event_shape_tensor(self, input_shape: Any) -> Any:
        return input_shape

    def _forward_event_shape(self, input_shape: Any) -> Any:
        return input_shape

    def _inverse_event_shape_tensor(self, output_shape: Any) -> Any:
        return output_shape

    def _inverse_event_shape(self, output_shape: Any) -> Any:
        return Shape(output_shape)

    def forward_event_shape_tensor(self, input_shape: Any, name: str = "forward_event_shape_tensor") -> Any:
        with self._name_scope(name, [input_shape]):
            return self._forward_event_shape_tensor(
                convert_to_tensor(input_shape, dtypes.int32, "input_shape")
            )

    def forward_event_shape(self, input_shape: Any) -> Any:
        return self._forward_event_shape(Shape(input_shape))

    def inverse_event_shape_tensor(self, output_shape: Any, name: str = "inverse_event_shape_tensor") -> Any:
        with self._name_scope(name, [output_shape]):
            return self._inverse_event_shape_tensor(
                convert_to_tensor(output_shape, dtypes.int32, "output_shape")
            )

    def inverse_event_shape(self, output_shape: Any) -> Any:
        return self._inverse_event_shape(output_shape)

    # -- both ways -----------------------------------------------------------------------------
    def _forward(self, x: Any) -> Any:
        raise NotImplementedError("forward not implemented.")

    def _inverse(self, y: Any) -> Any:
        raise NotImplementedError("inverse not implemented")

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        raise NotImplementedError("forward_log_det_jacobian not implemented.")

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        raise NotImplementedError("inverse_log_det_jacobian not implemented.")

    def forward(self, x: Any, name: str = "forward") -> Any:
        """y = g(x)."""
        return self._call_forward(x, name)

    def inverse(self, y: Any, name: str = "inverse") -> Any:
        """x with g(x) = y; a tuple of them where there are several."""
        return self._call_inverse(y, name)

    def _call_forward(self, x: Any, name: str, **kwargs: Any) -> Any:
        with self._name_scope(name, [x]):
            x = self._input(x, "x")
            if not self._is_injective:
                return self._forward(x, **kwargs)
            known = self._known(kwargs, x=x)
            if known.y is None:
                known.y = self._forward(x, **kwargs)
                self._keep(known, kwargs)
            return known.y

    def _call_inverse(self, y: Any, name: str, **kwargs: Any) -> Any:
        with self._name_scope(name, [y]):
            y = self._input(y, "y")
            if not self._is_injective:
                return self._inverse(y, **kwargs)
            known = self._known(kwargs, y=y)
            if known.x is None:
                known.x = self._inverse(y, **kwargs)
                self._keep(known, kwargs)
            return known.x

    def inverse_log_det_jacobian(
        self, y: Any, event_ndims: Any, name: str = "inverse_log_det_jacobian"
    ) -> Any:
        """log |det dx/dy| of events of so many dimensions."""
        return self._call_inverse_log_det_jacobian(y, event_ndims, name)

    def forward_log_det_jacobian(
        self, x: Any, event_ndims: Any, name: str = "forward_log_det_jacobian"
    ) -> Any:
        """log |det dy/dx| of events of so many dimensions."""
        return self._call_forward_log_det_jacobian(x, event_ndims, name)

    def _call_inverse_log_det_jacobian(self, y: Any, event_ndims: Any, name: str, **kwargs: Any) -> Any:
        with self._name_scope(name, [y]):
            key = _key(event_ndims)
            if key in self._constant_ildj_map:
                return self._constant_ildj_map[key]
            y = self._input(y, "y")
            with control_dependencies(
                self._check_valid_event_ndims(self.inverse_min_event_ndims, event_ndims)
            ):
                if not self._is_injective:
                    return self._of_every_branch(y, event_ndims, kwargs)
                known = self._known(kwargs, y=y)
                if key not in known.ildj:
                    known.ildj[key] = self._ildj(known, event_ndims, kwargs, self._from_output)
                    self._remember(known, key, kwargs)
                return known.ildj[key]

    def _call_forward_log_det_jacobian(self, x: Any, event_ndims: Any, name: str, **kwargs: Any) -> Any:
        if not self._is_injective:
            raise NotImplementedError(
                "forward_log_det_jacobian cannot be implemented for non-injective transforms."
            )
        with self._name_scope(name, [x]):
            key = _key(event_ndims)
            with control_dependencies(
                self._check_valid_event_ndims(self.forward_min_event_ndims, event_ndims)
            ):
                if key in self._constant_ildj_map:
                    return -1.0 * self._constant_ildj_map[key]
                x = self._input(x, "x")
                known = self._known(kwargs, x=x)
                if key not in known.ildj:
                    known.ildj[key] = self._ildj(known, event_ndims, kwargs, self._from_input)
                    self._remember(known, key, kwargs)
                return -known.ildj[key]

    def _from_output(self, known: _Known, event_ndims: Any, kwargs: Any) -> Any:
        """By the inverse's own rule."""
        if known.y is None:
            known.y = self._forward(known.x, **kwargs)
        ildj = self._inverse_log_det_jacobian(known.y, **kwargs)
        return self._reduce_jacobian_det_over_event(known.y, ildj, self.inverse_min_event_ndims, event_ndims)

    def _from_input(self, known: _Known, event_ndims: Any, kwargs: Any) -> Any:
        """By the forward rule, whose sign is the other."""
        if known.x is None:
            known.x = self._inverse(known.y, **kwargs)
        ildj = -self._forward_log_det_jacobian(known.x, **kwargs)
        return self._reduce_jacobian_det_over_event(known.x, ildj, self.forward_min_event_ndims, event_ndims)

    def _ildj(self, known: _Known, event_ndims: Any, kwargs: Any, first: Any) -> Any:
        """By one rule, or else by the other; the first's error where neither is there."""
        second = self._from_input if first == self._from_output else self._from_output
        try:
            return first(known, event_ndims, kwargs)
        except NotImplementedError as error:
            try:
                return second(known, event_ndims, kwargs)
            except NotImplementedError:
                raise error from None

    def _of_every_branch(self, y: Any, event_ndims: Any, kwargs: Any) -> tuple[Any, ...]:
        """Where several inputs have one output: of each."""
        reduce = self._reduce_jacobian_det_over_event
        try:
            found = self._inverse_log_det_jacobian(y, **kwargs)
            return tuple(reduce(y, ildj, self.inverse_min_event_ndims, event_ndims) for ildj in found)
        except NotImplementedError as error:
            try:
                x = self._inverse(y, **kwargs)
                found = self._forward_log_det_jacobian(x, **kwargs)
            except NotImplementedError:
                raise error from None
            return tuple(reduce(x, -fldj, self.forward_min_event_ndims, event_ndims) for fldj in found)

    # -- what was computed ---------------------------------------------------------------------
    def _known(self, kwargs: Any, x: Any = None, y: Any = None) -> _Known:
        table, tensor = (self._by_input, x) if x is not None else (self._by_output, y)
        return table.get(self._place(tensor, kwargs)) or _Known(x, y)

    def _place(self, tensor: Any, kwargs: Any) -> Any:
        return id(tensor), tuple(sorted((k, str(v)) for k, v in kwargs.items()))

    def _keep(self, known: _Known, kwargs: Any) -> None:
        if known.x is not None:
            self._by_input[self._place(known.x, kwargs)] = known
        if known.y is not None:
            self._by_output[self._place(known.y, kwargs)] = known

    def _remember(self, known: _Known, key: Any, kwargs: Any) -> None:
        self._keep(known, kwargs)
        if self.is_constant_jacobian:
            self._constant_ildj_map[key] = known.ildj[key]

    # -- dimensions ----------------------------------------------------------------------------
    def _reduce_jacobian_det_over_event(
        self, y: Any, ildj: Any, min_event_ndims: int, event_ndims: Any
    ) -> Any:
        """The sum over the dimensions of an event that the rule did not see."""
        dims = rank(y)
        seen = shape(y)[dims - event_ndims : dims - min_event_ndims]
        axes = self._get_event_reduce_dims(min_event_ndims, event_ndims)
        reduced = reduce_sum(ones(seen, ildj.dtype) * ildj, axis=axes)
        known = self._maybe_get_static_event_ndims(event_ndims)
        if known is not None and y.shape.ndims is not None and ildj.shape.ndims is not None:
            event = y.shape[y.shape.ndims - known : y.shape.ndims - min_event_ndims]
            both = broadcast_static_shape(ildj.shape, event)
            reduced.set_shape(both[: both.ndims - (known - min_event_ndims)])
        return reduced

    def _get_event_reduce_dims(self, min_event_ndims: int, event_ndims: Any) -> Any:
        known = self._maybe_get_static_event_ndims(event_ndims)
        if known is not None:
            return [-index for index in range(1, known - min_event_ndims + 1)]
        return range_(min_event_ndims - event_ndims, 0)

    def _check_valid_event_ndims(self, min_event_ndims: int, event_ndims: Any) -> list[Any]:
        event_ndims = convert_to_tensor(event_ndims, name="event_ndims")
        known, checks = get_static_value(event_ndims), []
        if not event_ndims.dtype.is_integer:
            raise ValueError(f"Expected integer dtype, got dtype {event_ndims.dtype}")
        if known is not None and event_ndims.shape.ndims != 0:
            raise ValueError(f"Expected scalar event_ndims, got shape {event_ndims.shape}")
        if known is not None and min_event_ndims > known:
            raise ValueError(f"event_ndims ({known}) must be larger than min_event_ndims ({min_event_ndims})")
        if known is None and self.validate_args:
            checks.append(assert_greater_equal(event_ndims, min_event_ndims))
        if event_ndims.shape.is_fully_defined():
            if event_ndims.shape.ndims != 0:
                raise ValueError(f"Expected scalar shape, got ndims {event_ndims.shape.ndims}")
        elif self.validate_args:
            checks.append(assert_rank(event_ndims, 0, message="Expected scalar."))
        return checks

    def _maybe_get_static_event_ndims(self, event_ndims: Any) -> Any:
        known = maybe_get_static_value(event_ndims)
        if isinstance(known, np.generic | np.ndarray):
            if known.dtype not in (np.int32, np.int64):
                raise ValueError(f"Expected integer dtype, got dtype {known.dtype}")
            if known.shape:
                raise ValueError(f"Expected a scalar integer, got {known}")
            return int(known)
        return known

    # -- names ---------------------------------------------------------------------------------
    def _input(self, value: Any, name: str) -> Any:
        tensor = convert_to_tensor(value, name=name)
        self._maybe_assert_dtype(tensor)
        return tensor

    def _maybe_assert_dtype(self, x: Any) -> None:
        if self.dtype is not None and self.dtype.base_dtype != x.dtype.base_dtype:
            raise TypeError(f"Input had dtype {self.dtype} but expected {x.dtype}.")

    @contextlib.contextmanager
    def _name_scope(self, name: str | None = None, values: Any = None) -> Iterator[str]:
        with name_scope(self.name), name_scope(name, values=[*(values or []), *self.graph_parents]) as scope:
            yield scope


def _key(event_ndims: Any) -> Any:
    """The number, or the identity of a tensor, which lives as long as its graph."""
    known = maybe_get_static_value(event_ndims)
    if known is None:
        return id(event_ndims)
    return known if isinstance(known, int) else repr(np.asarray(known).tolist())


def _least_ndims(forward: Any, inverse: Any) -> tuple[int, int]:
    if forward is None and inverse is None:
        raise ValueError(
            "Must specify at least one of `forward_min_event_ndims` and `inverse_min_event_ndims`."
        )
    both = (inverse if forward is None else forward, forward if inverse is None else inverse)
    for ndims, way in zip(both, ("forward", "inverse")):
        if not isinstance(ndims, int):
            raise TypeError(f"Expected {way}_min_event_ndims to be of type int, got {type(ndims).__name__}")
        if ndims < 0:
            raise ValueError(f"{way}_min_event_ndims must be a non-negative integer.")
    return both
