"""RNN: a cell along the time of its inputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.keras.backend.recurrence import rnn
from headrace.keras.layers import serialization
from headrace.keras.layers.stacked_cells import StackedRNNCells, zero_states
from headrace.layers import ops
from headrace.layers.engine.config import floatx
from headrace.layers.engine.history import history_of
from headrace.layers.engine.input_spec import InputSpec
from headrace.layers.engine.layer import Layer
from headrace.layers.engine.weight_values import load_weights, track
from headrace.layers.ops import nest


class RNN(Layer):
    """A recurrent layer.

    Args:
      cell: a cell, or a list of cells one above the other: `call(inputs, states)` gives an output and new
        states; `state_size` says the sizes of states.
      return_sequences: all outputs, or the last one?
      return_state: the states at the end, too?
      go_backwards: from the last time step to the first?
      stateful: begin a batch with the states at the end of the one before?
      unroll: steps one by one, in place of a loop?
      time_major: are inputs [time, samples, ...]?
      **kwargs: as of Layer; `input_dim`, `input_length`, `zero_output_for_mask`.
    """

    def __init__(
        self,
        cell: Any,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        time_major: bool = False,
        **kwargs: Any,
    ) -> None:
        if isinstance(cell, list | tuple):
            cell = StackedRNNCells(cell)
        if not hasattr(cell, "call"):
            raise ValueError("`cell` should have a `call` method. The RNN was passed:", cell)
        if not hasattr(cell, "state_size"):
            raise ValueError(
                "The RNN cell should have an attribute `state_size` (tuple of integers, one integer per RNN "
                "state)."
            )
        self.zero_output_for_mask = kwargs.pop("zero_output_for_mask", False)
        if "input_shape" not in kwargs and ("input_dim" in kwargs or "input_length" in kwargs):
            kwargs["input_shape"] = (kwargs.pop("input_length", None), kwargs.pop("input_dim", None))
        super().__init__(**kwargs)
        self.cell = cell
        self.return_sequences, self.return_state = return_sequences, return_state
        self.go_backwards, self.stateful, self.unroll = go_backwards, stateful, unroll
        self.time_major, self.supports_masking = time_major, True
        self.state_spec: Any = None
        self._kept: _Kept | None = None  # the states of a stateful layer
        self._num_constants = 0

    # -- shapes ---------------------------------------------------------------------------------
    @property
    def _state_sizes(self) -> list[Any]:
        found = self.cell.state_size
        return list(found) if isinstance(found, list | tuple) else [found]

    @property
    def states(self) -> list[Any]:
        """The states that a stateful layer keeps; None for each before there are any."""
        return [None] * len(self._state_sizes) if self._kept is None else self._kept.variables

    def compute_output_shape(self, input_shape: Any) -> Any:
        if isinstance(input_shape, list):
            input_shape = input_shape[0]
        known = ops.as_shape(input_shape).as_list()
        batch, steps = (known[1], known[0]) if self.time_major else known[:2]
        size = getattr(self.cell, "output_size", None)
        if size is None:
            size = self._state_sizes[0]
        sizes = ops.as_shape(size).as_list()
        lead = ([steps, batch] if self.time_major else [batch, steps]) if self.return_sequences else [batch]
        output = ops.as_shape([*lead, *sizes])
        if not self.return_state:
            return output
        return [output, *(ops.as_shape([batch, *ops.as_shape(s).as_list()]) for s in self._state_sizes)]

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        mask = nest.flatten(mask)[0]
        output = mask if self.return_sequences else None
        return [output, *([None] * len(self.states))] if self.return_state else output

    # -- calls ----------------------------------------------------------------------------------
    def build(self, input_shape: Any) -> None:
        if isinstance(input_shape, list):
            input_shape = input_shape[0]
        known = ops.as_shape(input_shape).as_list()
        if known is not None:
            batch = 1 if self.time_major else 0
            spec = [size if i == batch and self.stateful else None for i, size in enumerate(known)]
            self.input_spec = [InputSpec(shape=(*spec[:2], *known[2:]))]
        if isinstance(self.cell, Layer) and not self.cell.built:
            self.cell.build(ops.as_shape([known[1 if self.time_major else 0], *known[2:]]))
            self.cell.built = True
        self.built = True
        if self.stateful:
            self.reset_states()

    def get_initial_state(self, inputs: Any) -> list[Any]:
        """States of zeros for these inputs."""
        x = nest.flatten(inputs)[0]
        batch = ops.shape(x)[1 if self.time_major else 0]
        make = getattr(self.cell, "get_initial_state", None)
        if make is not None:
            found = make(inputs=None, batch_size=batch, dtype=x.dtype)
        else:
            found = zero_states(batch, self.cell.state_size, x.dtype)
        return list(found) if isinstance(found, list | tuple) else [found]

    def __call__(self, inputs: Any, initial_state: Any = None, constants: Any = None, **kwargs: Any) -> Any:
        """As of Layer.

        Args:
          inputs: the inputs; a list has the states and constants behind them.
          initial_state: the states to begin with.
          constants: what each step gets.
        """
        if isinstance(inputs, list):
            rest = inputs[1:]
            if self._num_constants and constants is None:
                constants = rest[-self._num_constants :]
                rest = rest[: -self._num_constants]
            initial_state = initial_state or rest or None
            inputs = inputs[0]
        initial_state, constants = _listed(initial_state), _listed(constants)
        extra = [*(initial_state or ()), *(constants or ())]
        if not extra:
            return super().__call__(inputs, **kwargs)
        if constants is not None:
            self._num_constants = len(constants)
        of_model = [history_of(x) is not None for x in nest.flatten(extra)]
        if any(of_model) and not all(of_model):
            raise ValueError(
                "The initial state or constants of an RNN layer cannot be specified with a mix of Keras "
                "tensors and "
                'non-Keras tensors (a "Keras tensor" is a tensor that was returned by a Keras layer, or by '
                "`Input`)"
            )
        if not all(of_model):
            if initial_state is not None:
                kwargs["initial_state"] = initial_state
            if constants is not None:
                kwargs["constants"] = constants
            return super().__call__(inputs, **kwargs)
        specs = self.input_spec
        self.input_spec = None
        outputs = super().__call__([inputs, *extra], **kwargs)
        self.input_spec = specs if specs is not None else self.input_spec
        return outputs

    def call(  # type: ignore[override]
        self,
        inputs: Any,
        mask: Any = None,
        training: Any = None,
        initial_state: Any = None,
        constants: Any = None,
    ) -> Any:
        if isinstance(inputs, list):
            rest = inputs[1:]
            if self._num_constants:
                constants, rest = rest[-self._num_constants :], rest[: -self._num_constants]
            initial_state = rest or initial_state
            inputs = inputs[0]
        self._forget_masks()
        if initial_state is None:
            initial_state = self.states if self.stateful else self.get_initial_state(inputs)
        if len(initial_state) != len(self.states):
            raise ValueError(
                f"Layer has {len(self.states)} states but was passed {len(initial_state)} initial states."
            )
        mask = None if mask is None else nest.flatten(mask)[0]
        steps = nest.flatten(inputs)[0].shape.as_list()[0 if self.time_major else 1]
        if self.unroll and steps is None:
            raise ValueError(_UNKNOWN_LENGTH)
        last, outputs, states = rnn(
            self._step(training, constants),
            inputs,
            [ops.convert_to_tensor(s) if isinstance(s, ops.Variable) else s for s in initial_state],
            go_backwards=self.go_backwards,
            mask=mask,
            constants=constants,
            unroll=self.unroll,
            time_major=self.time_major,
            zero_output_for_mask=self.zero_output_for_mask,
        )
        if self.stateful:
            kept = nest.flatten(self.states)
            self.add_update([ops.assign(v, s) for v, s in zip(kept, nest.flatten(states))])
        found = outputs if self.return_sequences else last
        return [*(found if isinstance(found, list) else [found]), *states] if self.return_state else found

    def _forget_masks(self) -> None:
        """Dropout draws anew in each call."""
        for cell in getattr(self.cell, "cells", [self.cell]):
            if hasattr(cell, "reset_dropout_mask"):
                cell.reset_dropout_mask()
                cell.reset_recurrent_dropout_mask()

    def _step(self, training: Any, constants: Any) -> Any:
        cell, count = self.cell, self._num_constants
        names = _argument_names(cell.call)
        kwargs = {"training": training} if "training" in names else {}
        takes_one = getattr(cell, "_is_tf_rnn_cell", None) is not None
        if constants and "constants" not in names:
            raise ValueError("RNN cell does not support constants")

        def step(inputs: Any, states: Any) -> tuple[Any, Any]:
            if constants:
                kwargs["constants"] = list(states[-count:])
                states = states[:-count]
            given: Any = states[0] if len(states) == 1 and takes_one else list(states)
            output, new = cell.call(inputs, given, **kwargs)
            return output, list(new) if isinstance(new, list | tuple) else [new]

        return step

    def reset_states(self, states: Any = None) -> None:
        """Give the states of a stateful layer values; zeros by default."""
        if not self.stateful:
            raise AttributeError("Layer must be stateful.")
        spec = self.input_spec[0].shape if self.input_spec else None
        batch = None if spec is None else spec[1 if self.time_major else 0]
        if not batch:
            raise ValueError(_UNKNOWN_BATCH)
        if self._kept is None:
            self._kept = _Kept(self._state_sizes, batch, self.dtype or floatx())
            if states is None:
                return
        kept = nest.flatten(self.states)
        if states is None:
            values = [np.zeros(v.shape.as_list()) for v in kept]
        else:
            values = [np.asarray(v) for v in (states if isinstance(states, list | tuple) else [states])]
            if len(values) != len(kept):
                raise ValueError(
                    f"Layer {self.name} expects {len(kept)} states, but it received {len(values)} state "
                    "values. Input "
                    f"received: {states}"
                )
            for i, (value, variable) in enumerate(zip(values, kept)):
                if tuple(variable.shape.as_list()) != value.shape:
                    raise ValueError(
                        f"State {i} is incompatible with layer {self.name}: expected shape="
                        f"{(batch, variable.shape.as_list()[-1])}, found shape={value.shape}"
                    )
        load_weights(kept, values)

    # -- configuration --------------------------------------------------------------------------
    def get_config(self) -> dict[str, Any]:
        config = super().get_config() | self._run_config()
        if self._num_constants:
            config["num_constants"] = self._num_constants
        if self.zero_output_for_mask:
            config["zero_output_for_mask"] = True
        cell = {"class_name": type(self.cell).__name__, "config": self.cell.get_config()}
        return config | {"cell": cell}

    def _run_config(self) -> dict[str, Any]:
        names = ("return_sequences", "return_state", "go_backwards", "stateful", "unroll", "time_major")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        config = dict(config)
        cell = serialization.deserialize(config.pop("cell"), custom_objects=custom_objects)
        count = config.pop("num_constants", 0)
        layer = cls(cell, **config)
        layer._num_constants = count
        return layer


class _Kept:
    """States as variables that are no weights of the layer."""

    def __init__(self, sizes: list[Any], batch: int, dtype: Any) -> None:
        self.variables = []
        with ops.init_scope():
            for size in sizes:
                shape = [batch, *ops.as_shape(size).as_list()]
                variable = ops.Variable(ops.zeros(shape, dtype), trainable=False, use_resource=True)
                track(variable)
                self.variables.append(variable)


def _listed(x: Any) -> Any:
    return x if x is None or isinstance(x, list) else list(x) if isinstance(x, tuple) else [x]


def _argument_names(call: Any) -> tuple[str, ...]:
    code = getattr(call, "__func__", call).__code__
    return tuple(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])


_UNKNOWN_LENGTH = (
    "Cannot unroll a RNN if the time dimension is undefined. \n- If using a Sequential model, specify the "
    "time dimension by passing an `input_shape` or `batch_input_shape` argument to your first layer. If your "
    "first layer is an Embedding, you can also use the `input_length` argument.\n- If using the functional "
    "API, specify the time dimension by passing a `shape` or `batch_shape` argument to your Input layer."
)
_UNKNOWN_BATCH = (
    "If a RNN is stateful, it needs to know its batch size. Specify the batch size of your input tensors: \n"
    "- If using a Sequential model, specify the batch size by passing a `batch_input_shape` argument to your "
    "first layer.\n- If using the functional API, specify the batch size by passing a `batch_shape` argument "
    "to your Input layer."
)
