"""Network: a layer made of layers, either a graph of calls or a subclass with its own `call`."""

from __future__ import annotations

from typing import Any

from headrace.core.modules import late
from headrace.keras.engine.added import AddLoss, AddMetric
from headrace.keras.engine.graph_map import GraphMap
from headrace.keras.engine.shapes import as_tuples, placeholders_of
from headrace.layers import ops
from headrace.layers.engine.call_context import current_call
from headrace.layers.engine.history import Call, history_of
from headrace.layers.engine.layer import Layer
from headrace.layers.engine.learning_phase import is_phase_tensor
from headrace.layers.engine.model_graph import get_graph, home_of
from headrace.layers.engine.op_layer import give_history
from headrace.layers.ops import nest

configs = late("headrace.keras.engine.network_config")
weights_files = late("headrace.keras.saving.weights_files")
summaries = late("headrace.keras.utils.summary")
model_files = late("headrace.keras.saving.model_files")


class Network(Layer):
    """Layers and how they follow one another.

    Args:
      inputs, outputs: tensors: the network is what leads from the ones to the others.
      name: its name.
      trainable, dtype, dynamic, autocast: as of Layer.
    """

    _is_graph_network = False
    inputs: Any = None
    outputs: Any = None
    input_names: list[str]
    output_names: list[str]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if (
            len(args) == 2
            or (len(args) == 1 and "outputs" in kwargs)
            or {"inputs", "outputs"} <= kwargs.keys()
        ):
            self._init_graph(*args, **kwargs)
        else:
            self._init_subclassed(*args, **kwargs)

    def _init_base(self, name: Any = None, **kwargs: Any) -> None:
        for key in kwargs:
            if key not in ("trainable", "dtype", "dynamic", "autocast"):
                raise TypeError("Keyword argument not understood:", key)
        super().__init__(name=name, **kwargs)

    def _init_subclassed(self, name: Any = None, **kwargs: Any) -> None:
        self._init_base(name=name, **kwargs)
        self.inputs, self.outputs, self.built = [], [], False

    def _init_graph(self, inputs: Any, outputs: Any, name: Any = None, **kwargs: Any) -> None:
        for key in kwargs:
            if key != "trainable":
                raise TypeError(
                    "Functional models may only specify `name` and `trainable` keyword arguments during "
                    "initialization. Got an unexpected argument:",
                    key,
                )
        inputs, outputs = _single(inputs), _single(outputs)
        with get_graph().as_default():
            give_history(outputs)
        self._init_base(name=name, **kwargs)
        self._set_graph(inputs, outputs)

    def _set_graph(self, inputs: Any, outputs: Any) -> None:
        """Become what leads from these inputs to these outputs."""
        self._nested_inputs, self._nested_outputs = inputs, outputs
        self.inputs, self.outputs = nest.flatten(inputs), nest.flatten(outputs)
        _check_ends(self.inputs, self.outputs)
        self._map = GraphMap(self.inputs, [*self.outputs, *self._extras])
        self._layers = self._map.layers
        self._is_graph_network = self.built = True
        self._input_layers = [history_of(x).layer for x in self.inputs]
        self._output_layers = [history_of(x).layer for x in self.outputs]
        self._inbound_nodes.clear()
        Call(self, inputs, outputs)
        self.output_names = _unique([layer.name for layer in self._output_layers])
        self.input_names = [layer.name for layer in self._input_layers]
        fed = [layer for layer in self._input_layers if layer.is_placeholder]
        self._feed_input_names = [layer.name for layer in fed]
        self._feed_inputs = [layer.output for layer in fed]
        self._feed_input_shapes = [layer._batch_input_shape for layer in fed]

    # -- what it is made of ---------------------------------------------------------------------
    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Add losses: functions, or tensors that the model's tensors lead to."""
        if not self._is_graph_network or self._in_call or current_call() is not None:
            super().add_loss(losses, inputs)
            return
        for loss in nest.flatten(losses):
            with home_of(loss):
                if isinstance(loss, ops.Tensor):
                    give_history(loss)
                if history_of(loss) is None:
                    super().add_loss(loss, inputs)
                else:
                    self._extend(AddLoss()(loss))

    def add_metric(self, value: Any, aggregation: str | None = None, name: str | None = None) -> None:
        """Report a value that the model's tensors lead to.  Arguments as of Layer."""
        if not self._is_graph_network or self._in_call or current_call() is not None:
            super().add_metric(value, aggregation, name)
            return
        if not isinstance(value, ops.Tensor) or value.graph.runs_at_once:
            raise ValueError(f"Expected a symbolic Tensor for the metric value, received: {value}")
        if getattr(value, "_metric_obj", None) is not None:
            raise ValueError(
                "Using the result of calling a `Metric` object when calling `add_metric` on a Functional "
                "Model is "
                "not supported. Please pass the Tensor to monitor directly."
            )
        with home_of(value):
            give_history(value)
            if history_of(value) is None:
                super().add_metric(value, aggregation, name)
            else:
                self._extend(AddMetric(aggregation, name)(value))

    def _extend(self, x: Any) -> None:
        """The calls that lead to `x` belong to the model, too."""
        self._extras = [*self._extras, x]
        self._map = GraphMap(self.inputs, [*self.outputs, *self._extras])
        self._layers = self._map.layers

    _extras: Any = ()

    def __setattr__(self, name: str, value: Any) -> None:
        if "_name" not in vars(self) and name != "_name" and _holds_layers(value):
            raise RuntimeError(
                "It looks like you are subclassing `Model` and you forgot to call `super(YourClass, "
                "self).__init__()`. Always start with this line."
            )
        super().__setattr__(name, value)

    def _sublayers(self) -> list[Any]:
        if self._is_graph_network:
            own = [x for x in super()._sublayers() if not any(x is layer for layer in self._layers)]
            return [*self._layers, *own]
        return super()._sublayers()

    @property
    def layers(self) -> list[Any]:
        """The layers, in the order of computation."""
        return [layer for layer in self._sublayers() if not getattr(layer, "_is_metric", False)]

    def get_layer(self, name: str | None = None, index: int | None = None) -> Any:
        """A layer by its name or its number."""
        if index is not None:
            if len(self.layers) <= index:
                raise ValueError(
                    f"Was asked to retrieve layer at index {index} but model only has "
                    f"{len(self.layers)} layers."
                )
            return self.layers[index]
        if not name:
            raise ValueError("Provide either a layer name or layer index.")
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise ValueError(f"No such layer: {name}")

    @property
    def weights(self) -> list[Any]:
        """All variables, layer by layer."""
        self._check_weights_exist()
        found = [w for layer in self._sublayers() for w in layer.weights]
        return _distinct([*found, *self._trainable_weights, *self._non_trainable_weights])

    @property
    def trainable_weights(self) -> list[Any]:
        self._check_weights_exist()
        if not self.trainable:
            return []
        return _distinct([*self._of_parts("trainable_weights"), *self._trainable_weights])

    @property
    def non_trainable_weights(self) -> list[Any]:
        self._check_weights_exist()
        found = [*self._of_parts("non_trainable_weights"), *self._non_trainable_weights]
        if not self.trainable:
            found = [*self._of_parts("trainable_weights"), *self._trainable_weights, *found]
        return _distinct(found)

    def _check_weights_exist(self) -> None:
        if (
            not self._is_graph_network
            and not self.built
            and "build" in type(self).__dict__
            and not self.dynamic
        ):
            raise ValueError(
                f"Weights for model {self.name} have not yet been created. Weights are created when the "
                "Model is "
                "first called on inputs or `build()` is called with an `input_shape`."
            )

    @property
    def dynamic(self) -> bool:  # type: ignore[override]
        return self._dynamic or any(layer.dynamic for layer in self._sublayers())

    @property
    def stateful(self) -> bool:  # type: ignore[override]
        """Does a layer keep its state from batch to batch?"""
        return any(getattr(layer, "stateful", False) for layer in self.layers)

    @property
    def state_updates(self) -> list[Any]:
        """The updates of layers that keep their state."""
        return [u for layer in self.layers if getattr(layer, "stateful", False) for u in layer.updates]

    def reset_states(self) -> None:
        """Forget the state of layers that keep one."""
        for layer in self.layers:
            if getattr(layer, "stateful", False) and hasattr(layer, "reset_states"):
                layer.reset_states()

    @property
    def input_spec(self) -> Any:
        """What each of its inputs must be."""
        if not self._is_graph_network:
            return None
        specs: list[Any] = []
        for layer in self._input_layers:
            found = layer.input_spec
            specs += found if isinstance(found, list) else [found]
        if any(spec is None for spec in specs):
            return None
        return specs[0] if len(specs) == 1 else specs

    @input_spec.setter
    def input_spec(self, value: Any) -> None:
        self._input_spec = value

    # -- calls ----------------------------------------------------------------------------------
    def build(self, input_shape: Any) -> None:
        """Make the weights of a subclassed model, for inputs of this shape."""
        if self._is_graph_network or self.inputs:
            self.built = True
            return
        if input_shape is None:
            raise ValueError("Input shape must be defined when calling build on a model subclass network.")
        if not isinstance(input_shape, tuple | list | ops.TensorShape | dict):
            raise ValueError(
                "Specified input shape is not one of the valid types. Please specify a batch input shape of "
                "type tuple or list of input shapes. User provided input type: " + str(type(input_shape))
            )
        if not self._calls_itself():
            self._build_from(input_shape)
        self.built = True

    def _calls_itself(self) -> bool:
        """Is this a call in progress, which builds the parts as it goes?"""
        return self._in_call

    _in_call = False

    def _maybe_build(self, inputs: Any) -> None:
        self._in_call = True
        try:
            super()._maybe_build(inputs)
        finally:
            self._in_call = False

    def _build_from(self, input_shape: Any) -> None:
        arguments = self._call_fn_args
        required = arguments[1 : len(arguments) - len(self.call.__defaults__ or ())]
        if not arguments:
            raise ValueError(
                "You can only call `build` on a model if its `call` method accepts an `inputs` argument."
            )
        if [name for name in required if name != "training"]:
            raise ValueError(
                "Currently, you cannot build your model if it has positional or keyword arguments that are "
                "not "
                "inputs to the model, but are required for its `call` method. Instead, in order to "
                "instantiate "
                "and build your model, `call` your model on real tensor data with all expected call "
                "arguments."
            )
        with get_graph().as_default():
            try:
                self.call(placeholders_of(input_shape), **({"training": False} if required else {}))
            except (ops.InvalidArgumentError, TypeError) as error:
                raise ValueError(
                    "You cannot build your model by calling `build` if your layers do not support float type "
                    "inputs. Instead, in order to instantiate and build your model, `call` your model on "
                    "real "
                    "tensor data (of the correct dtype)."
                ) from error

    def call(  # type: ignore[override]
        self, inputs: Any, training: Any = None, mask: Any = None
    ) -> Any:
        if not self._is_graph_network:
            raise NotImplementedError(
                "When subclassing the `Model` class, you should implement a `call` method."
            )
        return self._run(inputs, training, mask)

    def _run(self, inputs: Any, training: Any, mask: Any) -> Any:
        """The calls of the graph again, on other inputs."""
        given = nest.flatten(inputs)
        masks = [None] * len(given) if mask is None else nest.flatten(mask)
        for x, its_mask in zip(given, masks):
            x._keras_mask = its_mask
        known = {id(place): x for place, x in zip(self.inputs, given)}

        def replaced(x: Any) -> Any:
            return known[id(x)] if history_of(x) is not None else x

        for calls in list(self._map.by_depth.values())[1:]:
            for call in calls:
                if not all(id(x) in known for x in nest.flatten(call.input_tensors)):
                    continue
                layer = call.outbound_layer
                if not call.sources:
                    continue
                kwargs = nest.map_structure(replaced, dict(call.arguments))
                if "training" in layer._call_fn_args:
                    if kwargs.get("training") is None or is_phase_tensor(kwargs["training"]):
                        kwargs["training"] = training
                made = layer(nest.map_structure(lambda x: known[id(x)], call.input_tensors), **kwargs)
                for x, y in zip(nest.flatten(call.output_tensors), nest.flatten(made)):
                    known[id(x)] = y
        return nest.pack_sequence_as(self._nested_outputs, [known[id(x)] for x in self.outputs])

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        if not self._is_graph_network:
            return None
        outputs = self._run(inputs, None, mask)
        return nest.map_structure(lambda y: getattr(y, "_keras_mask", None), outputs)

    def _set_masks(self, inputs: Any, outputs: Any, masks: Any) -> None:
        """The last layers have set those of the outputs."""

    def compute_output_shape(self, input_shape: Any) -> Any:
        """The shapes of the outputs for inputs of these shapes."""
        if not self._is_graph_network:
            return super().compute_output_shape(input_shape)
        shapes = nest.flatten(as_tuples(input_shape, as_leaf=True))
        if len(shapes) != len(self._input_layers):
            raise ValueError(
                f"Invalid input_shape argument {input_shape}: model has {len(self._input_layers)} tensor "
                "inputs."
            )
        known = {id(x): shape.value for x, shape in zip(self.inputs, shapes)}
        for calls in self._map.by_depth.values():
            for call in calls:
                if not call.sources:
                    continue
                given = nest.map_structure(lambda x: known[id(x)], call.input_tensors)
                made = as_tuples(call.outbound_layer.compute_output_shape(given), as_leaf=True)
                for x, leaf in zip(nest.flatten(call.output_tensors), nest.flatten(made)):
                    known[id(x)] = leaf.value
        return nest.map_structure(lambda x: ops.as_shape(known[id(x)]), self._nested_outputs)

    # -- configuration and files ----------------------------------------------------------------
    def get_config(self) -> dict[str, Any]:
        """The layers with their arguments, and how they are connected."""
        if not self._is_graph_network:
            raise NotImplementedError
        config: dict[str, Any] = configs.config_of(self)
        return config

    @classmethod
    def from_config(cls, config: Any, custom_objects: Any = None) -> Any:
        """A model from what `get_config` returned."""
        return configs.from_config(cls, config, custom_objects)

    def to_json(self, **kwargs: Any) -> str:
        """The architecture as JSON; arguments as of `json.dumps`."""
        text: str = model_files.to_json(self, **kwargs)
        return text

    def to_yaml(self, **kwargs: Any) -> str:
        """The architecture as YAML; arguments as of `yaml.dump`."""
        text: str = model_files.to_yaml(self, **kwargs)
        return text

    def save(
        self,
        filepath: Any,
        overwrite: bool = True,
        include_optimizer: bool = True,
        save_format: str | None = None,
        signatures: Any = None,
        options: Any = None,
    ) -> None:
        """Write architecture, weights and the optimizer's state into a file (HDF5) or folder (SavedModel)."""
        model_files.save_model(self, filepath, overwrite, include_optimizer, save_format, signatures, options)

    def save_weights(self, filepath: Any, overwrite: bool = True, save_format: str | None = None) -> None:
        """Write the weights: an HDF5 file, or a checkpoint in TF's format."""
        weights_files.save_weights(self, filepath, overwrite, save_format)

    def checkpoint_parts(self) -> dict[str, Any]:
        """What a checkpoint of the model holds, under the names that Keras gives it."""
        parts: dict[str, Any] = {}
        weighted = 0
        for number, layer in enumerate(self.layers):
            if layer.weights:
                parts[f"layer_with_weights-{weighted}"] = layer
                weighted += 1
            parts[f"layer-{number}"] = layer
        return parts

    def load_weights(self, filepath: Any, by_name: bool = False) -> Any:
        """Read weights that `save_weights` or `save` wrote."""
        return weights_files.load_weights(self, filepath, by_name)

    def summary(self, line_length: int | None = None, positions: Any = None, print_fn: Any = None) -> None:
        """Print a table of the layers."""
        if not self.built:
            raise ValueError(
                "This model has not yet been built. Build the model first by calling `build()` or calling "
                "`fit()` with some data, or specify an `input_shape` argument in the first layer(s) for "
                "automatic build."
            )
        summaries.print_summary(self, line_length, positions, print_fn)


def _single(tensors: Any) -> Any:
    """A list of one tensor is that tensor."""
    return tensors[0] if isinstance(tensors, list) and len(nest.flatten(tensors)) == 1 else tensors


def _check_ends(inputs: list[Any], outputs: list[Any]) -> None:
    if len({id(x) for x in inputs}) != len(inputs):
        raise ValueError(
            "The list of inputs passed to the model is redundant. All inputs should only appear once. Found: "
            + str(inputs)
        )
    for x in inputs:
        history = history_of(x)
        if history is None:
            raise ValueError(
                "Input tensors to a Model must come from `tf.keras.Input`. Received: "
                + str(x)
                + " (missing previous layer metadata)."
            )
        if not hasattr(history.layer, "is_placeholder"):
            raise ValueError(
                "Input tensors to a Model must come from `tf.keras.Input`. Received: "
                f"{x} (the tensor was generated by layer {history.layer.name})."
            )
    for x in outputs:
        if history_of(x) is None:
            raise ValueError(
                "Output tensors to a Model must be the output of a TensorFlow `Layer` (thus holding past "
                "layer "
                f"metadata). Found: {x}"
            )


def _unique(names: list[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        number, proposal = 1, name
        while proposal in found:
            proposal, number = f"{name}_{number}", number + 1
        found.append(proposal)
    return found


def _distinct(weights: list[Any]) -> list[Any]:
    return list({id(w): w for w in weights}.values())


def _holds_layers(value: Any) -> bool:
    found = nest.flatten(value)
    return bool(found) and all(isinstance(x, Layer) for x in found)
