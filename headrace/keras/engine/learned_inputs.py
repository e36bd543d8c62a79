"""Subclassed models learn what their inputs and outputs are: from data, or from their first call."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.keras.engine.endpoints import is_placeholder
from headrace.keras.engine.user_data import is_symbolic
from headrace.layers import ops
from headrace.layers.engine.config import floatx
from headrace.layers.engine.learning_phase import learning_phase
from headrace.layers.engine.model_graph import get_graph
from headrace.layers.ops import nest


class LearnsInputs:
    """The part of Model that keeps inputs and outputs."""

    inputs: Any
    outputs: Any
    input_names: list[str]
    output_names: list[str]
    built: bool
    dynamic: Any
    _is_graph_network: bool
    _nested_inputs: Any
    _takes: Any
    _feed_inputs: Any
    _feed_input_names: Any
    _feed_input_shapes: Any
    _input_keys: Any = None  # of a subclassed model that takes a dictionary

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """As of Layer."""
        return super().__call__(inputs, *args, **kwargs)  # type: ignore[misc]

    def set_inputs_from(self, x: Any, symbolic: bool) -> None:
        """Build a model that has not seen any data, for data like `x` (arrays, tensors or their specs)."""
        keys = sorted(x) if isinstance(x, dict) else None
        flat = [x[key] for key in keys] if keys else list(x) if isinstance(x, list | tuple) else [x]
        for value in flat:
            if isinstance(value, ops.SparseTensor | ops.RaggedTensor | ops.SparseTensorValue):
                raise ValueError(
                    "All SparseTensor and RaggedTensor inputs must be explicitly declared using a "
                    "keras.Input() "
                    f"with sparse=True or ragged=True. We found an undeclared input {value}. For Sequential "
                    "models, "
                    "please add a keras.Input() as your first Layer. For subclassed models, please call "
                    "self._set_inputs() on your input set, which you can create using keras.Input() for "
                    "each input "
                    "to your model."
                )
        names = keys or [f"input_{i + 1}" for i in range(len(flat))]
        if ops.executing_eagerly():
            self._set_inputs_at_once(flat, names, keys)
            return
        with get_graph().as_default():
            places = flat if symbolic else [_place(v, n) for v, n in zip(flat, names)]
            self._set_places(places, names, keys, fed=not symbolic)
            kwargs = {"training": learning_phase()} if self._takes("training") else {}
            outputs = self(self.pack_inputs(places), **kwargs)
            self._set_outputs(outputs)

    def _set_inputs_at_once(self, flat: list[Any], names: list[str], keys: Any) -> None:
        """Eager mode: a call that is described tells the outputs; where it can not be, one on an example."""
        self._input_keys = keys
        kwargs = {"training": False} if self._takes("training") else {}
        if self.dynamic:
            values = [_example(value) for value in flat]
            outputs = self(self.pack_inputs(values), **kwargs)
        else:
            with get_graph().as_default():
                values = [_place(value, name) for value, name in zip(flat, names)]
                outputs = self(self.pack_inputs(values), **kwargs)
        self._set_places([None] * len(flat), names, keys, fed=True)
        self.inputs = values
        self._set_outputs(outputs)

    def _set_places(self, places: list[Any], names: list[str], keys: Any, fed: bool) -> None:
        self.inputs, self.input_names, self._input_keys = places, list(names), keys
        self._feed_inputs = list(places) if fed else []
        self._feed_input_names = list(names) if fed else []
        self._feed_input_shapes = [None] * len(self._feed_input_names)

    def _set_outputs(self, outputs: Any) -> None:
        self.outputs = nest.flatten(outputs)
        self.output_names = [f"output_{i + 1}" for i in range(len(self.outputs))]
        self.built = True

    def _set_inputs(self, inputs: Any, outputs: Any = None, training: Any = None) -> None:
        """Say what the inputs of a subclassed model are."""
        self.set_inputs_from(inputs, is_symbolic(nest.flatten(inputs)[0]))

    def pack_inputs(self, values: list[Any]) -> Any:
        """Inputs as the model's `call` takes them."""
        if self._is_graph_network:
            return nest.pack_sequence_as(self._nested_inputs, values)
        if self._input_keys:
            return dict(zip(self._input_keys, values))
        return values[0] if len(values) == 1 else list(values)

    def _note_first_call(self, inputs: Any, outputs: Any) -> None:
        """A subclassed model that is called on a Keras input knows its inputs from then on."""
        if self.inputs or self._is_graph_network or ops.executing_eagerly():
            return
        flat = nest.flatten(inputs)
        if not all(isinstance(x, ops.Tensor) for x in flat):
            return
        keys = sorted(inputs) if isinstance(inputs, dict) else None
        names = keys or [f"input_{i + 1}" for i in range(len(flat))]
        fed = [x for x in flat if is_placeholder(x)]
        self._set_places(flat, names, keys, fed=len(fed) == len(flat))
        self._set_outputs(outputs)


def _place(value: Any, name: str) -> Any:
    """A placeholder for values like this one."""
    shape = getattr(value, "shape", None)
    if shape is None:
        value = np.asarray(value)
        shape = value.shape
    sizes = list(shape.as_list() if isinstance(shape, ops.TensorShape) else shape)
    kind = ops.as_dtype(value.dtype)
    if len(sizes) == 1:
        sizes.append(1)
    sizes[0] = None
    return ops.placeholder(floatx() if kind.is_floating else kind, sizes, name=name)


def _example(value: Any) -> Any:
    """One row of data, or zeros like it."""
    if hasattr(value, "_shape") and not hasattr(value, "numpy"):  # a TensorSpec
        sizes = [1 if n is None else n for n in value.shape.as_list()]
        return ops.zeros(sizes, floatx() if value.dtype.is_floating else value.dtype)
    array = np.asarray(value)[:1]
    if array.ndim == 1:
        array = array[:, None]
    return ops.convert_to_tensor(array.astype(floatx()) if array.dtype.kind == "f" else array)
