"""Layer: weights and a function, with a name.  The common base of tf.layers and tf.keras.

A call builds the layer once (`build` makes weights for the shape of the inputs), checks what it is
given, and runs `call` inside the layer's name scope.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from headrace.core.dtypes import DTypeLike, as_dtype
from headrace.core.fields import reads
from headrace.core.modules import late
from headrace.core.shapes import Shape
from headrace.functions.array.array import identity, placeholder
from headrace.functions.math.cast import cast
from headrace.functions.values.nest import flatten, map_structure
from headrace.functions.values.structure import name_scope
from headrace.functions.values.tensor_spec import TensorSpec
from headrace.graph.defaults import get_default_graph
from headrace.graph.tensor import Tensor
from headrace.layers.engine.call_arguments import CallArguments
from headrace.layers.engine.call_context import calling, current_call
from headrace.layers.engine.connections import Connections
from headrace.layers.engine.history import Call, descends_from_inputs
from headrace.layers.engine.identifiers import get_regularizer
from headrace.layers.engine.input_spec import InputSpec, check_inputs
from headrace.layers.engine.layer_names import snake_case, unique_object_name
from headrace.layers.engine.model_graph import home_of
from headrace.layers.engine.reports import Reports
from headrace.layers.engine.weight_values import track
from headrace.layers.engine.weights import Weights
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.graphdef.function_graph import FunctionGraph
from headrace.variables.functions.module import Module
from headrace.variables.variable import Variable

op_layers = late("headrace.layers.engine.op_layer")

_KEYWORDS = {"input_shape", "batch_input_shape", "batch_size", "weights", "activity_regularizer", "autocast"}


class Layer(Weights, Reports, Connections, CallArguments, Module):
    """A function of tensors with weights of its own.

    A subclass makes its weights in `build(input_shape)` with `add_weight`, and says in
    `call(inputs)` what it computes.

    Args:
      trainable: are the weights to be trained?
      name: its name; default the class's, numbered.
      dtype: element type of the weights; default that of the first input.
      dynamic: the call cannot be built into a graph.
      **kwargs: `activity_regularizer` (function of an output to a loss), `weights` (initial values),
        `input_shape`, `batch_input_shape`, `batch_size`, `autocast`.
    """

    # Subclasses that do not call our constructor still find these.
    built = False
    stateful = False
    supports_masking = False
    _trainable = True
    _dynamic = False
    _type: str | None = None
    _input_spec: Any = None
    _activity_regularizer: Any = None
    _initial_weights: Any = None
    _autocast = False
    _starts_with_zero = True  # numbering of names: dense, dense_1

    def __init__(
        self,
        trainable: bool = True,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        for key in kwargs:
            if key not in _KEYWORDS:
                raise TypeError("Keyword argument not understood:", key)
        self._trainable, self._dynamic = trainable, dynamic
        self._init_set_name(name)
        self._type = None if dtype is None else as_dtype(dtype).name
        self._autocast = kwargs.get("autocast", False)
        self._activity_regularizer = get_regularizer(kwargs.get("activity_regularizer"))
        self._initial_weights = kwargs.get("weights")
        sizes = kwargs.get("batch_input_shape")
        if sizes is None and "input_shape" in kwargs:
            sizes = (kwargs.get("batch_size"), *kwargs["input_shape"])
        if sizes is not None:
            self._batch_input_shape = tuple(sizes)

    def __getattr__(self, name: str) -> Any:
        # Names and lists exist from their first use on, whether the constructor ran or not.
        if name in ("_name", "_base_name"):
            self._init_set_name(None)
            return vars(self)[name]
        if name in _LISTS:
            found: list[Any] = []
            object.__setattr__(self, name, found)
            return found
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        """Variables that become attributes become weights of the layer."""
        object.__setattr__(self, name, value)
        if name in _LISTS or isinstance(value, Tensor):
            return
        for found in flatten(value):
            if getattr(found, "_is_metric", False) and not any(found is m for m in self._metrics):
                self._metrics.append(found)
            if isinstance(found, Variable):
                weights = self._trainable_weights if found.trainable else self._non_trainable_weights
                if not any(found is weight for weight in weights):
                    weights.append(found)
                    if self._keeps_own_weights:
                        track(found)

    # -- what it is ----------------------------------------------------------------------------
    name: str = reads("_name")

    @property
    def name_scope(self) -> Any:
        """The name scope of the layer's calls, to be entered."""
        return name_scope(self._name_scope())

    def _name_scope(self) -> str:
        return self.name

    def _init_set_name(self, name: Any) -> None:
        self._name = name or self._new_name()

    def _new_name(self) -> str:
        return unique_object_name(snake_case(type(self).__name__), zero_based=self._starts_with_zero)

    dtype: str | None = reads("_type")

    @property
    def _dtype(self) -> str | None:
        return self._type

    @_dtype.setter
    def _dtype(self, value: Any) -> None:
        self._type = as_dtype(value).name

    dynamic: bool = reads("_dynamic")

    @property
    def trainable(self) -> bool:
        return self._trainable

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self._trainable = value
        for layer in self._sublayers():
            layer.trainable = value

    @property
    def activity_regularizer(self) -> Any:
        """Function from an output of the layer to a loss."""
        return self._activity_regularizer

    @activity_regularizer.setter
    def activity_regularizer(self, regularizer: Any) -> None:
        self._activity_regularizer = regularizer

    @property
    def input_spec(self) -> Any:
        """An InputSpec for each input, or None."""
        return self._input_spec

    @input_spec.setter
    def input_spec(self, value: Any) -> None:
        for spec in flatten(value):
            if spec is not None and not isinstance(spec, InputSpec):
                raise TypeError(f"Layer input_spec must be an instance of InputSpec. Got: {spec}")
        self._input_spec = value

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal layer."""
        config: dict[str, Any] = {"name": self.name, "trainable": self.trainable}
        if hasattr(self, "_batch_input_shape"):
            config["batch_input_shape"] = self._batch_input_shape
        config["dtype"] = self.dtype
        if self.dynamic:
            config["dynamic"] = True
        if type(self).get_config is Layer.get_config:
            known = {"self", "dynamic", *config}
            if set(inspect.getfullargspec(self.__init__).args) - known:  # type: ignore[misc]
                raise NotImplementedError("Layers with arguments in `__init__` must override `get_config`.")
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """A layer from what `get_config` returned."""
        return cls(**config)

    def _sublayers(self) -> list[Any]:
        found: list[Any] = []
        for name, value in vars(self).items():
            if name in _LISTS or isinstance(value, Tensor):
                continue
            for part in flatten(value):
                if isinstance(part, Layer) and not any(part is known for known in found):
                    found.append(part)
        return found

    # -- calls ---------------------------------------------------------------------------------
    def build(self, input_shape: Any) -> None:
        """Make the weights, for inputs of this shape.  Called once, before the first call."""
        self.built = True

    def call(self, inputs: Any, **kwargs: Any) -> Any:
        """What the layer computes."""
        return inputs

    def compute_output_shape(self, input_shape: Any) -> Any:
        """The shape of the output for inputs of a shape.  In eager mode a call on placeholders tells it."""
        if not get_default_graph().runs_at_once:
            raise NotImplementedError
        with FunctionGraph("graph", get_default_graph()).as_default():
            shapes = [input_shape] if _is_shape(input_shape) else list(input_shape)
            places = [placeholder(self.dtype or "float32", tuple(shape)) for shape in shapes]
            kwargs = {"training": False} if "training" in self._call_fn_args else {}
            try:
                outputs = self(places[0] if _is_shape(input_shape) else places, **kwargs)
            except TypeError as error:
                raise NotImplementedError(
                    "We could not automatically infer the static shape of the layer's output. Please "
                    "implement "
                    f"the `compute_output_shape` method on your layer ({type(self).__name__})."
                ) from error
        return map_structure(lambda x: x.shape, outputs)

    def compute_output_signature(self, input_signature: Any) -> Any:
        """The specifications of the outputs, from those of the inputs."""
        for spec in flatten(input_signature):
            if not isinstance(spec, TensorSpec):
                raise TypeError(
                    "Only TensorSpec signature types are supported, but saw signature signature "
                    f"entry: {spec}."
                )
        shapes = self.compute_output_shape(map_structure(lambda s: s.shape, input_signature))
        dtype = self.dtype or flatten(input_signature)[0].dtype
        return map_structure(lambda shape: TensorSpec(shape=shape, dtype=dtype), shapes)

    def apply(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """The same as calling the layer."""
        return self.__call__(inputs, *args, **kwargs)

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Build the layer if need be, check the inputs, and `call` it.

        Args:
          inputs: a tensor or a structure of tensors.
          *args, **kwargs: passed to `call`.
        """
        inputs = map_structure(_tensor_of, inputs)
        with home_of(inputs):
            return self._called(inputs, args, kwargs)

    def _called(self, inputs: Any, args: Any, kwargs: Any) -> Any:
        graph = get_default_graph()
        if graph.runs_at_once:
            if current_call() is None:
                self._clear_losses()
        elif "keras_inputs" in graph._scoped and not descends_from_inputs(inputs):
            op_layers.give_history(inputs)
        asked = dict(kwargs)  # what the caller said, without what comes from around it
        masks = self._input_masks(inputs, args, kwargs)
        if masks is not None and self._takes("mask") and not self._has("mask", args, kwargs):
            kwargs["mask"] = masks
        training = self._training_asked(args, kwargs)
        with calling(self, inputs, training):
            check_inputs(self.input_spec, inputs, self.name)
            with name_scope(self._name_scope()):
                self._maybe_build(inputs)
                outputs = self.call(self._maybe_cast_inputs(inputs), *args, **kwargs)
                if outputs is None:
                    raise ValueError(
                        "A layer's `call` method should return a Tensor or a list of Tensors, not "
                        f"None (layer: {self.name})."
                    )
                inputs, outputs = self._connected(inputs, outputs, args, asked)
                self._handle_activity_regularization(inputs, outputs)
                self._set_masks(inputs, outputs, masks)
                if not graph.runs_at_once:
                    self._note_first_call(inputs, outputs)
        return outputs

    def _maybe_build(self, inputs: Any) -> None:
        if not self.built:
            found = flatten(inputs)
            if found and self._type is None and hasattr(found[0], "dtype"):
                self._type = as_dtype(found[0].dtype).base_dtype.name
            shapes = None
            if all(hasattr(x, "shape") for x in found):
                shapes = map_structure(lambda x: x.shape, inputs)
            self.build(shapes)
            self.built = True
        if self._initial_weights is not None:
            self.set_weights(self._initial_weights)
            self._initial_weights = None

    def _maybe_cast_inputs(self, inputs: Any) -> Any:
        if not self._autocast or not self._type or not as_dtype(self._type).is_floating:
            return inputs

        def fitted(x: Any) -> Any:
            floating = isinstance(x, Tensor) and x.dtype.is_floating
            return cast(x, self._type) if floating and x.dtype.name != self._type else x

        return map_structure(fitted, inputs)

    def _connected(self, inputs: Any, outputs: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """Inputs and outputs of a call, recorded where a model will ask for them."""
        if not descends_from_inputs(inputs):
            return inputs, outputs
        given = flatten(inputs)
        # What is handed through gets a history of its own.
        outputs = map_structure(lambda y: identity(y) if any(y is x for x in given) else y, outputs)
        named = dict(zip(self._call_fn_args[1:], args)) | kwargs
        Call.of_layer(self, inputs, outputs, named)
        return inputs, outputs

    def _note_first_call(self, inputs: Any, outputs: Any) -> None:
        """Models learn here what they are called on."""


_LISTS = {
    "_trainable_weights",
    "_non_trainable_weights",
    "_updates",
    "_losses",
    "_callable_losses",
    "_metrics",
    "_inbound_nodes",
    "_outbound_nodes",
}


def _is_shape(x: Any) -> bool:
    return isinstance(x, Shape) or all(n is None or isinstance(n, int) for n in x)


def _tensor_of(x: Any) -> Any:
    return convert_to_tensor(x) if isinstance(x, np.ndarray | float | int) else x
