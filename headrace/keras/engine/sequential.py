"""Sequential: layers in a row."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from headrace.core import log
from headrace.keras.engine.input_layer import Input, InputLayer
from headrace.keras.engine.model import Model
from headrace.keras.layers.serialization import deserialize
from headrace.layers import ops
from headrace.layers.engine.history import history_of
from headrace.layers.engine.layer import Layer
from headrace.layers.ops import nest


class Sequential(Model):
    """A model whose layers follow one another.

    Args:
      layers: the layers.
      name: its name.

    Example:
      >>> model = tf.keras.Sequential([tf.keras.layers.Dense(10, input_shape=(784,))])
    """

    def __init__(self, layers: Any = None, name: str | None = None) -> None:
        super().__init__(name=name)
        self.supports_masking = True
        self._row: list[Any] = []
        self._build_input_shape: Any = None
        for layer in (layers if isinstance(layers, list | tuple) else [layers]) if layers else []:
            self.add(layer)

    def _sublayers(self) -> list[Any]:
        if self._is_graph_network:
            found: list[Any] = super()._sublayers()
            return found
        return list(self._row)

    @property
    def layers(self) -> list[Any]:
        """The layers in their order, without the input."""
        found = self._row if not self._is_graph_network else super().layers
        return list(found[1:] if found and isinstance(found[0], InputLayer) else found)

    def add(self, layer: Any) -> None:
        """Put a layer behind the last one."""
        history = history_of(layer)
        if history is not None and isinstance(history.layer, InputLayer):
            layer = history.layer
        if not isinstance(layer, Layer):
            raise TypeError(f"The added layer must be an instance of class Layer. Found: {layer}")
        if not self._row:
            self._add_first(layer)
        elif self.outputs:
            output = layer(self.outputs[0])
            if len(nest.flatten(output)) != 1:
                raise TypeError(_ONE_OUTPUT)
            self._row.append(layer)
            self._set_graph(self.inputs[0], output)
        else:
            self._row.append(layer)
            self.built = False

    def _add_first(self, layer: Any) -> None:
        self.built = False
        if isinstance(layer, InputLayer):
            self._row.append(layer)
        else:
            shape, dtype = _first_shape(layer)
            if shape is None:
                self._row.append(layer)
                return
            x = Input(batch_shape=shape, dtype=dtype, name=layer.name + "_input")
            layer(x)
            self._row += [history_of(x).layer, layer]
        outputs = nest.flatten(layer._inbound_nodes[-1].output_tensors)
        if len(outputs) != 1:
            raise ValueError(_ONE_OUTPUT)
        self._set_graph(
            self._row[0].output if isinstance(self._row[0], InputLayer) else outputs[0], outputs[0]
        )

    def pop(self) -> None:
        """Remove the last layer."""
        if not self.layers:
            raise TypeError("There are no layers in the model.")
        self._row.pop()
        if not self.layers:
            self.outputs = self.inputs = None
            self.built = self._is_graph_network = False
            self._row.clear()
        elif self._is_graph_network:
            self._row[-1]._outbound_nodes.clear()
            self._set_graph(self.inputs[0], self._row[-1].output)

    def build(self, input_shape: Any = None) -> None:
        """Make the weights, for inputs of this shape."""
        if not self._is_graph_network and not self._in_call:
            if input_shape is None:
                raise ValueError("You must provide an `input_shape` argument.")
            self._build_input_shape = tuple(input_shape)
            super().build(self._build_input_shape)
        elif input_shape is not None and not self._is_graph_network:
            self._build_input_shape = _plain_shape(input_shape)
        self.built = True

    def call(  # type: ignore[override]
        self, inputs: Any, training: Any = None, mask: Any = None
    ) -> Any:
        if self._is_graph_network:
            return super().call(inputs, training, mask)
        outputs = inputs
        for layer in self.layers:
            given = {"mask": mask, "training": training}
            kwargs = {key: value for key, value in given.items() if key in layer._call_fn_args}
            outputs = layer(inputs, **kwargs)
            inputs, mask = outputs, getattr(outputs, "_keras_mask", None)
        return outputs

    def compute_output_shape(self, input_shape: Any) -> Any:
        for layer in self.layers:
            input_shape = layer.compute_output_shape(input_shape)
        return input_shape

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return getattr(self.call(inputs, mask=mask), "_keras_mask", None)

    @property
    def input_spec(self) -> Any:
        """What the first layer expects."""
        return self.layers[0].input_spec if self.layers else None

    @input_spec.setter
    def input_spec(self, value: Any) -> None:
        self._input_spec = value

    def predict_proba(self, x: Any, batch_size: int | None = 32, verbose: int = 0) -> Any:
        """Probabilities of classes for the inputs."""
        found = self.predict(x, batch_size, verbose)
        if found.min() < 0.0 or found.max() > 1.0:
            log.warning(
                "Network returning invalid probability values. The last layer might not normalize "
                "predictions "
                "into probabilities (like softmax or sigmoid would)."
            )
        return found

    def predict_classes(self, x: Any, batch_size: int | None = 32, verbose: int = 0) -> Any:
        """The most likely classes of the inputs."""
        found: np.ndarray[Any, Any] = self.predict(x, batch_size=batch_size, verbose=verbose)
        if found.shape[-1] > 1:
            return found.argmax(axis=-1)
        return (found > 0.5).astype("int32")

    def get_config(self) -> dict[str, Any]:
        layers = [{"class_name": type(x).__name__, "config": x.get_config()} for x in self.layers]
        if self._is_graph_network and layers and isinstance(self._row[0], InputLayer):
            layers[0]["config"].setdefault("batch_input_shape", self._row[0]._batch_input_shape)
        config = {"name": self.name, "layers": copy.deepcopy(layers)}
        if self._build_input_shape:
            config["build_input_shape"] = self._build_input_shape
        return config

    @classmethod
    def from_config(cls, config: Any, custom_objects: Any = None) -> Any:
        if not isinstance(config, dict):
            config = {"layers": config}
        model = cls(name=config.get("name"))
        for entry in config["layers"]:
            model.add(deserialize(entry, custom_objects=custom_objects))
        if not model.inputs and config.get("build_input_shape"):
            model.build(config["build_input_shape"])
        return model


_ONE_OUTPUT = (
    "All layers in a Sequential model should have a single output tensor. For multi-output layers, use the "
    "functional API."
)


def _plain_shape(shape: Any) -> Any:
    return tuple(shape.as_list()) if isinstance(shape, ops.TensorShape) and shape.ndims is not None else None


def _first_shape(layer: Any) -> tuple[Any, Any]:
    """The shape of inputs that a layer, or the first layer of a model, was given."""
    while getattr(layer, "layers", None) and not hasattr(layer, "_batch_input_shape"):
        if getattr(layer, "_is_graph_network", False):
            return layer._feed_input_shapes[0], layer.inputs[0].dtype.name
        layer = layer.layers[0]
    return getattr(layer, "_batch_input_shape", None), layer.dtype
