"""Cells around cells: tf.nn.rnn_cell.DropoutWrapper, ResidualWrapper, DeviceWrapper, MultiRNNCell."""

from __future__ import annotations

import hashlib
import numbers
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

from headrace.core import log
from headrace.core.dtypes import DTypeLike
from headrace.core.fields import reads
from headrace.core.shapes import as_shape
from headrace.functions.array.slice import slice_
from headrace.functions.array.stacking import concat
from headrace.functions.control.tensor_array import TensorArray
from headrace.functions.math.math import div
from headrace.functions.nn.activation import dropout_v2
from headrace.functions.random.random import random_uniform
from headrace.functions.values import nest
from headrace.functions.values.nest_paths import get_traverse_shallow_structure, map_structure_up_to
from headrace.functions.values.structure import name_scope
from headrace.graph.defaults import get_default_graph
from headrace.layers.engine import function_config
from headrace.layers.engine.base import Layer
from headrace.layers.rnn.lstm_cells import LSTMStateTuple
from headrace.layers.rnn.rnn_cells import RNNCell
from headrace.nn.rnn_parts import assert_like_rnncell
from headrace.ops.declaration.constants import constant_value
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math import rounding
from headrace.variables.scope import variable_scope


class _Wrapper(RNNCell):
    """A cell that changes what another one takes or gives."""

    _FUNCTION: ClassVar[tuple[str, str] | None] = None  # in a configuration, and as an argument

    def __init__(self, cell: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        assert_like_rnncell("cell", cell)
        self.cell = cell

    wrapped_cell: Any = reads("cell", "The cell inside.")
    state_size: Any = reads("cell.state_size")
    output_size: Any = reads("cell.output_size")

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        with name_scope(type(self).__name__ + "ZeroState", values=[batch_size]):
            return self.cell.zero_state(batch_size, dtype)

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        return self._call_wrapped_cell(inputs, state, self.cell.__call__, scope=scope)

    def _call_wrapped_cell(
        self, inputs: Any, state: Any, cell_call_fn: Callable[..., Any], **kwargs: Any
    ) -> Any:
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        inner = {"class_name": type(self.cell).__name__, "config": self.cell.get_config()}
        return super().get_config() | {"cell": inner}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """A wrapper from what `get_config` returned, with the cell itself under "cell"."""
        config = dict(config)
        if cls._FUNCTION is not None:
            key, argument = cls._FUNCTION
            function = function_config.loaded(key, config, custom_objects)
            if function is not None:
                config[argument] = function
        cell = config.pop("cell")
        try:
            assert_like_rnncell("cell", cell)
        except TypeError:
            raise ValueError(
                "RNNCellWrapper cannot reconstruct the wrapped cell. Please overwrite the cell in "
                "the config with a RNNCell instance."
            ) from None
        return cls(cell, **config)


class DropoutWrapper(_Wrapper):
    """A cell with dropout on its inputs, outputs and states.

    Args:
      cell: the cell.
      input_keep_prob, output_keep_prob, state_keep_prob: how likely an element is kept: floats or
        tensors.  The states are those that go out.
      variational_recurrent: the same elements are dropped in all steps of a run.
      input_size: a structure of the inputs' sizes; needed for `variational_recurrent` where inputs
        may be dropped.
      dtype: type of all; needed for `variational_recurrent`.
      seed: seed of the ops.
      dropout_state_filter_visitor: function of a part of the state: True or False, or a structure of
        them one level deep, for what is to be dropped.  Default: not the memory of an LSTM, not
        tensor arrays.
      **kwargs: as of Layer.

    Raises:
      TypeError: `cell` is not a cell, or the visitor is not callable.
      ValueError: a probability is not between 0 and 1.
    """

    _FUNCTION = "dropout_fn", "dropout_state_filter_visitor"

    def __init__(
        self,
        cell: Any,
        input_keep_prob: Any = 1.0,
        output_keep_prob: Any = 1.0,
        state_keep_prob: Any = 1.0,
        variational_recurrent: bool = False,
        input_size: Any = None,
        dtype: DTypeLike | None = None,
        seed: int | None = None,
        dropout_state_filter_visitor: Callable[[Any], Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(cell, dtype=dtype, **kwargs)
        if dropout_state_filter_visitor is not None and not callable(dropout_state_filter_visitor):
            raise TypeError("dropout_state_filter_visitor must be callable")
        self._dropout_state_filter = dropout_state_filter_visitor or drops_state
        with name_scope("DropoutWrapperInit"):
            self._input_keep_prob = _probability(input_keep_prob, "input_keep_prob")
            self._state_keep_prob = _probability(state_keep_prob, "state_keep_prob")
            self._output_keep_prob = _probability(output_keep_prob, "output_keep_prob")
        self._variational_recurrent, self._input_size = variational_recurrent, input_size
        self._seed = seed
        self._noise: dict[str, Any] = {}
        if variational_recurrent:
            self._draw(dtype)

    def _draw(self, dtype: Any) -> None:
        """What all steps of a run share."""
        if dtype is None:
            raise ValueError("When variational_recurrent=True, dtype must be provided")
        sizes = {"state": self.cell.state_size, "output": self.cell.output_size}
        if _may_drop(self._input_keep_prob):
            if self._input_size is None:
                raise ValueError(
                    "When variational_recurrent=True and input_keep_prob < 1.0 or is unknown, "
                    "input_size must be provided"
                )
            sizes = {"input": self._input_size, **sizes}
        for what, size in sizes.items():

            def noise(i: int, size: Any, what: str = what) -> Any:
                shape = concat(([1], as_shape(size).as_list()), 0)
                return random_uniform(shape, seed=self._seed_for(what, i), dtype=dtype)

            self._noise[what] = _numbered(size, noise, size)

    def _seed_for(self, what: str, index: int) -> int | None:
        if self._seed is None:
            return None
        text = f"{self._seed}{what}_{index}".encode()
        return int(hashlib.md5(text).hexdigest()[:8], 16) & 0x7FFFFFFF

    def _dropout(self, values: Any, what: str, keep_prob: Any, chosen: Any = None) -> Any:
        chosen = values if chosen is None else chosen

        def drop(i: int, do: Any, value: Any, noise: Any = None) -> Any:
            if isinstance(do, bool) and not do:
                return value
            if noise is None:
                return dropout_v2(value, 1.0 - keep_prob, seed=self._seed_for(what, i))
            kept = div(value, keep_prob) * rounding.floor(keep_prob + noise)
            kept.set_shape(value.shape)
            return kept

        more = [self._noise[what]] if self._variational_recurrent else []
        return _numbered(chosen, drop, chosen, values, *more)

    def _call_wrapped_cell(
        self, inputs: Any, state: Any, cell_call_fn: Callable[..., Any], **kwargs: Any
    ) -> Any:
        if _may_drop(self._input_keep_prob):
            inputs = self._dropout(inputs, "input", self._input_keep_prob)
        output, new_state = cell_call_fn(inputs, state, **kwargs)
        if _may_drop(self._state_keep_prob):
            chosen = get_traverse_shallow_structure(self._dropout_state_filter, new_state)
            new_state = self._dropout(new_state, "state", self._state_keep_prob, chosen)
        if _may_drop(self._output_keep_prob):
            output = self._dropout(output, "output", self._output_keep_prob)
        return output, new_state

    def get_config(self) -> dict[str, Any]:
        config = super().get_config() | {
            "input_keep_prob": self._input_keep_prob,
            "output_keep_prob": self._output_keep_prob,
            "state_keep_prob": self._state_keep_prob,
            "variational_recurrent": self._variational_recurrent,
            "input_size": self._input_size,
            "seed": self._seed,
        }
        if self._dropout_state_filter is not drops_state:
            config |= function_config.dumped("dropout_fn", self._dropout_state_filter)
        return config


def drops_state(substate: Any) -> Any:
    """The default filter of a DropoutWrapper."""
    if isinstance(substate, LSTMStateTuple):
        return LSTMStateTuple(c=False, h=True)
    return not isinstance(substate, TensorArray)


def _probability(given: Any, name: str) -> Any:
    tensor = convert_to_tensor(given)
    known = constant_value(tensor)
    if known is None:
        return tensor
    if not 0 <= known <= 1:
        raise ValueError(f"Parameter {name} must be between 0 and 1: {known}")
    return float(known)


def _may_drop(keep_prob: Any) -> bool:
    return not isinstance(keep_prob, numbers.Real) or keep_prob < 1


def _numbered(shallow: Any, function: Callable[..., Any], *args: Any) -> Any:
    """map_structure_up_to, with the number of the place as first argument."""
    count = iter(range(1 << 30))
    return map_structure_up_to(shallow, lambda *parts: function(next(count), *parts), *args)


class ResidualWrapper(_Wrapper):
    """A cell whose inputs are added to its outputs.

    Args:
      cell: the cell.
      residual_fn: function of inputs and outputs, in place of the sum.
      **kwargs: as of Layer.
    """

    _FUNCTION = "residual_fn", "residual_fn"

    def __init__(
        self, cell: Any, residual_fn: Callable[[Any, Any], Any] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(cell, **kwargs)
        self._residual_fn = residual_fn

    def _call_wrapped_cell(
        self, inputs: Any, state: Any, cell_call_fn: Callable[..., Any], **kwargs: Any
    ) -> Any:
        outputs, new_state = cell_call_fn(inputs, state, **kwargs)
        return (self._residual_fn or _sums)(inputs, outputs), new_state

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        if self._residual_fn is not None:
            config |= function_config.dumped("residual_fn", self._residual_fn)
        return config


def _sums(inputs: Any, outputs: Any) -> Any:
    nest.assert_same_structure(inputs, outputs)

    def add(x: Any, y: Any) -> Any:
        x.shape.assert_is_compatible_with(y.shape)
        return x + y

    return nest.map_structure(add, inputs, outputs)


class DeviceWrapper(_Wrapper):
    """A cell on a device.

    Args:
      cell: the cell.
      device: name of the device, or function from a node to one.
      **kwargs: as of Layer.
    """

    def __init__(self, cell: Any, device: Any, **kwargs: Any) -> None:
        super().__init__(cell, **kwargs)
        self._device = device

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        with name_scope(type(self).__name__ + "ZeroState", values=[batch_size]):
            with get_default_graph().device(self._device):
                return self.cell.zero_state(batch_size, dtype)

    def _call_wrapped_cell(
        self, inputs: Any, state: Any, cell_call_fn: Callable[..., Any], **kwargs: Any
    ) -> Any:
        with get_default_graph().device(self._device):
            return cell_call_fn(inputs, state, **kwargs)

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"device": self._device}


class Part(NamedTuple):
    """What belongs to an object, and its name in checkpoints of objects."""

    name: str
    ref: Any


class MultiRNNCell(RNNCell):
    """Cells on top of one another: the output of each is the input of the next.

    Args:
      cells: a list of cells.
      state_is_tuple: the state is a tuple of theirs; else their states are columns of one tensor.

    Raises:
      ValueError: there are no cells, or one has a tuple as state and `state_is_tuple` is False.
      TypeError: `cells` is not a list.
    """

    def __init__(self, cells: Any, state_is_tuple: bool = True) -> None:
        super().__init__()
        if not cells:
            raise ValueError("Must specify at least one cell for MultiRNNCell.")
        if not nest.is_sequence(cells):
            raise TypeError(f"cells must be a list or tuple, but saw: {cells}.")
        if len({id(cell) for cell in cells}) < len(cells):
            log.warn(
                "At least two cells provided to MultiRNNCell are the same object and will share weights."
            )
        self._cells, self._state_is_tuple = cells, state_is_tuple
        if not state_is_tuple and any(nest.is_sequence(c.state_size) for c in cells):
            raise ValueError(
                "Some cells return tuples of states, but the flag state_is_tuple is not set.  State "
                f"sizes are: {[c.state_size for c in cells]}"
            )

    @property
    def state_size(self) -> Any:
        sizes = [cell.state_size for cell in self._cells]
        return tuple(sizes) if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> Any:
        return self._cells[-1].output_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        with name_scope(f"{type(self).__name__}ZeroState", values=[batch_size]):
            if not self._state_is_tuple:
                return super().zero_state(batch_size, dtype)
            return tuple(cell.zero_state(batch_size, dtype) for cell in self._cells)

    def _weights_of(self, kind: str) -> list[Any]:
        layers = [cell for cell in self._cells if isinstance(cell, Layer)]
        return [weight for layer in layers for weight in getattr(layer, kind)]

    @property
    def _checkpoint_dependencies(self) -> list[Part]:
        return [Part(f"cell-{i}", c) for i, c in enumerate(self._cells) if isinstance(c, Layer)]

    @property
    def trainable_weights(self) -> list[Any]:
        return self._weights_of("trainable_weights") if self.trainable else []

    @property
    def non_trainable_weights(self) -> list[Any]:
        others = self._weights_of("non_trainable_weights")
        return others if self.trainable else self._weights_of("trainable_weights") + others

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        new_states, start = [], 0
        for i, cell in enumerate(self._cells):
            with variable_scope(f"cell_{i}"):
                if self._state_is_tuple:
                    if not nest.is_sequence(state):
                        raise ValueError(
                            f"Expected state to be a tuple of length {len(self.state_size)}, but "
                            f"received: {state}"
                        )
                    own = state[i]
                else:
                    own = slice_(state, [0, start], [-1, cell.state_size])
                    start += cell.state_size
                inputs, new_state = cell(inputs, own)
                new_states.append(new_state)
        return inputs, tuple(new_states) if self._state_is_tuple else concat(new_states, 1)
