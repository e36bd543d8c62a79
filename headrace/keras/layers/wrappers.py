"""Layers around a layer: at each time step, and in both directions."""

from __future__ import annotations

import copy
from typing import Any

from headrace.keras.backend.recurrence import rnn
from headrace.keras.engine.shapes import as_tuples
from headrace.keras.layers import serialization
from headrace.layers import ops
from headrace.layers.engine.history import history_of
from headrace.layers.engine.layer import Layer
from headrace.layers.ops import nest


class Wrapper(Layer):
    """A layer around another one.

    Args:
      layer: the other one.
      **kwargs: as of Layer.
    """

    def __init__(self, layer: Any, **kwargs: Any) -> None:
        if not isinstance(layer, Layer):
            raise AssertionError(f"Please initialize `{type(self).__name__}` layer with a `Layer` instance.")
        super().__init__(**kwargs)
        self.layer: Any = layer

    def build(self, input_shape: Any = None) -> None:
        if not self.layer.built:
            self.layer.build(input_shape)
            self.layer.built = True
        self.built = True

    activity_regularizer: Any = property(
        lambda self: getattr(self.layer, "activity_regularizer", None), doc="That of the layer inside."
    )

    def get_config(self) -> dict[str, Any]:
        inner = {"class_name": type(self.layer).__name__, "config": self.layer.get_config()}
        return super().get_config() | {"layer": inner}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        config = copy.deepcopy(config)
        layer = serialization.deserialize(config.pop("layer"), custom_objects=custom_objects)
        return cls(layer, **config)


class TimeDistributed(Wrapper):
    """A layer at each time step.

    Args:
      layer: the layer.
      **kwargs: as of Layer.
    """

    def __init__(self, layer: Any, **kwargs: Any) -> None:
        if not isinstance(layer, Layer):
            raise ValueError(
                "Please initialize `TimeDistributed` layer with a `tf.keras.layers.Layer` instance. You "
                "passed: "
                f"{layer}"
            )
        super().__init__(layer, **kwargs)
        self.supports_masking = True
        # A layer that keeps a state must see one time step after the other.
        self._always_use_reshape = not getattr(layer, "stateful", False)

    def build(self, input_shape: Any = None) -> None:
        known = ops.as_shape(input_shape).as_list()
        if len(known) < 3:
            raise ValueError(
                "`TimeDistributed` Layer should be passed an `input_shape ` with at least 3 dimensions, "
                "received: "
                f"{known}"
            )
        super().build(ops.as_shape([known[0], *known[2:]]))

    def compute_output_shape(self, input_shape: Any) -> Any:
        known = ops.as_shape(input_shape).as_list()
        inner = as_tuples(self.layer.compute_output_shape((known[0], *known[2:])))
        return ops.as_shape([inner[0], known[1], *inner[1:]])

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:  # type: ignore[override]
        kwargs = {"training": training} if self.layer._takes("training") else {}
        known = inputs.shape.as_list()
        if not self._always_use_reshape or (known[0] and not ops.executing_eagerly()):

            def step(x: Any, states: Any) -> Any:
                return self.layer(x, **kwargs), []

            _, outputs, _ = rnn(step, inputs, [], mask=None, unroll=False)
        else:
            flat = _joined(inputs)
            if mask is not None and self.layer._takes("mask"):
                kwargs["mask"] = _joined(mask)
            found = self.layer(flat, **kwargs)
            sizes = found.shape.as_list()[1:]
            lead = ops.shape(inputs)[:2]
            if None in sizes:
                outputs = ops.reshape(found, ops.concat([lead, ops.shape(found)[1:]], 0))
            else:
                outputs = ops.reshape(found, ops.concat([lead, ops.constant(sizes, "int32")], 0))
            if not ops.executing_eagerly():
                outputs.set_shape([known[0], known[1], *sizes])
        return outputs

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        inner = None if mask is None or len(mask.shape) < 3 else _joined(mask)
        found = self.layer.compute_mask(_joined(inputs), inner)
        if found is None:
            if mask is None:
                return None
            while len(mask.shape) > 2:
                mask = ops.reduce_any(mask, axis=-1)
            return mask
        sizes = found.shape.as_list()[1:]
        return (
            ops.reshape(found, ops.concat([ops.shape(inputs)[:2], ops.shape(found)[1:]], 0))
            if sizes
            else (ops.reshape(found, ops.shape(inputs)[:2]))
        )


def _joined(x: Any) -> Any:
    """Samples and time as one dimension."""
    sizes = x.shape.as_list()[2:]
    if None in sizes:
        return ops.reshape(x, ops.concat([[-1], ops.shape(x)[2:]], 0))
    return ops.reshape(x, [-1, *sizes])


_WAYS = {
    "sum": lambda a, b: a + b,
    "concat": lambda a, b: ops.concat([a, b], -1),
    "ave": lambda a, b: (a + b) / 2,
    "mul": lambda a, b: a * b,
}


class Bidirectional(Wrapper):
    """A recurrent layer in both directions.

    Args:
      layer: the layer.
      merge_mode: how the outputs become one: sum, mul, concat, ave; None for two of them.
      weights: initial weights of both.
      backward_layer: another layer for the way back.
      **kwargs: as of Layer.
    """

    def __init__(
        self,
        layer: Any,
        merge_mode: str | None = "concat",
        weights: Any = None,
        backward_layer: Any = None,
        **kwargs: Any,
    ) -> None:
        if not isinstance(layer, Layer):
            raise ValueError(
                f"Please initialize `Bidirectional` layer with a `Layer` instance. You passed: {layer}"
            )
        if backward_layer is not None and not isinstance(backward_layer, Layer):
            raise ValueError(f"`backward_layer` need to be a `Layer` instance. You passed: {backward_layer}")
        if merge_mode not in (*_WAYS, None):
            raise ValueError(
                'Invalid merge mode. Merge mode should be one of {"sum", "mul", "ave", "concat", None}'
            )
        self._num_constants: int | None = None
        super().__init__(layer, **kwargs)
        self.merge_mode = merge_mode
        self.forward_layer = self._again(layer, "forward_")
        back = backward_layer or self._again(layer, "backward_", go_backwards=not layer.go_backwards)
        self.backward_layer = back
        self._given_backward = backward_layer is not None
        if backward_layer is not None:
            self._check_layers()
        if weights:
            half = len(weights) // 2
            self.forward_layer._initial_weights = weights[:half]
            self.backward_layer._initial_weights = weights[half:]
        self.stateful = layer.stateful
        self.return_sequences, self.return_state = layer.return_sequences, layer.return_state
        self.supports_masking = True
        self.input_spec = layer.input_spec

    def _check_layers(self) -> None:
        if self.forward_layer.go_backwards == self.backward_layer.go_backwards:
            raise ValueError("Forward layer and backward layer should have different `go_backwards` value.")
        for name in ("stateful", "return_sequences", "return_state"):
            ours, theirs = getattr(self.forward_layer, name), getattr(self.backward_layer, name)
            if ours != theirs:
                raise ValueError(
                    "Forward layer and backward layer are expected to have the same value for attribute "
                    f"{name}, got {ours} and {theirs}"
                )

    def _again(self, layer: Any, prefix: str, **changes: Any) -> Any:
        config = layer.get_config() | changes
        config["name"] = prefix + layer.name
        made = type(layer).from_config(config)
        return made

    def _sublayers(self) -> list[Any]:
        return [self.forward_layer, self.backward_layer]

    def build(self, input_shape: Any = None) -> None:
        if isinstance(input_shape, list):
            input_shape = input_shape[0]
        for one in (self.forward_layer, self.backward_layer):
            if not one.built:
                with ops.name_scope(one.name):
                    one.build(input_shape)
                    one.built = True
        self.built = True

    def compute_output_shape(self, input_shape: Any) -> Any:
        found = self.forward_layer.compute_output_shape(input_shape)
        shapes = [ops.as_shape(s) for s in found] if self.return_state else [ops.as_shape(found)]
        output, states = shapes[0], shapes[1:]
        if self.merge_mode == "concat":
            sizes: Any = output.as_list()
            output = ops.as_shape([*sizes[:-1], sizes[-1] * 2])
        outputs = [output] if self.merge_mode is not None else [output, output]
        if self.return_state:
            return [*outputs, *states, *states]
        return outputs[0] if len(outputs) == 1 else outputs

    def __call__(self, inputs: Any, initial_state: Any = None, constants: Any = None, **kwargs: Any) -> Any:
        """As of Layer; states and constants may stand behind the inputs in a list."""
        if isinstance(inputs, list):
            rest = inputs[1:]
            if self._num_constants:
                constants, rest = rest[-self._num_constants :], rest[: -self._num_constants]
            initial_state = initial_state or rest or None
            inputs = inputs[0]
        if initial_state is None and constants is None:
            return super().__call__(inputs, **kwargs)
        if initial_state is not None and len(initial_state) % 2:
            raise ValueError(
                "When passing `initial_state` to a Bidirectional RNN, the state should be a list containing "
                "the "
                f"states of the underlying RNNs. Found: {initial_state}"
            )
        if constants is not None:
            constants = constants if isinstance(constants, list) else [constants]
            self._num_constants = len(constants)
            for one in (self.forward_layer, self.backward_layer):
                one._num_constants = len(constants)
        extra = [*(initial_state or ()), *(constants or ())]
        of_model = [history_of(x) is not None for x in nest.flatten(extra)]
        if any(of_model) and not all(of_model):
            raise ValueError(
                "The initial state of a Bidirectional layer cannot be specified with a mix of Keras tensors "
                "and "
                "non-Keras tensors"
            )
        if all(of_model):
            spec, self.input_spec = self.input_spec, None
            outputs = super().__call__([inputs, *extra], **kwargs)
            self.input_spec = spec
            return outputs
        return super().__call__(inputs, initial_state=initial_state, constants=constants, **kwargs)

    def call(  # type: ignore[override]
        self,
        inputs: Any,
        training: Any = None,
        mask: Any = None,
        initial_state: Any = None,
        constants: Any = None,
    ) -> Any:
        kwargs: dict[str, Any] = {}
        for name, value in (("training", training), ("mask", mask), ("constants", constants)):
            if value is not None and self.layer._takes(name):
                kwargs[name] = value
        if isinstance(inputs, list):
            rest = inputs[1:]
            if self._num_constants:
                kwargs["constants"], rest = rest[-self._num_constants :], rest[: -self._num_constants]
            initial_state, inputs = rest or initial_state, inputs[0]
        if isinstance(mask, list):
            kwargs["mask"] = mask[0]
        halves: list[Any] = [None, None]
        if initial_state is not None:
            half = len(initial_state) // 2
            halves = [list(initial_state[:half]), list(initial_state[half:])]
        found = []
        for one, state in zip((self.forward_layer, self.backward_layer), halves):
            with ops.name_scope(one.name):
                found.append(one.call(inputs, initial_state=state, **kwargs))
        return self._merged(*found)

    def _merged(self, forward: Any, backward: Any) -> Any:
        states: list[Any] = []
        if self.return_state:
            states = [*forward[1:], *backward[1:]]
            forward, backward = forward[0], backward[0]
        if self.return_sequences:
            axis = 0 if getattr(self.forward_layer, "time_major", False) else 1
            backward = ops.reverse(backward, [axis])
        if self.merge_mode is None:
            return [forward, backward, *states]
        output = _WAYS[self.merge_mode](forward, backward)
        return [output, *states] if self.return_state else output

    def reset_states(self) -> None:
        """Forget the states of both."""
        self.forward_layer.reset_states()
        self.backward_layer.reset_states()

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        if isinstance(mask, list):
            mask = mask[0]
        output = mask if self.return_sequences else None
        masks = [output] if self.merge_mode else [output, output]
        if self.return_state:
            return [*masks, *([None] * (2 * len(self.forward_layer.states)))]
        return masks if len(masks) > 1 else masks[0]

    def get_config(self) -> dict[str, Any]:
        config = super().get_config() | {"merge_mode": self.merge_mode}
        if self._num_constants:
            config["num_constants"] = self._num_constants
        if self._given_backward:
            back = self.backward_layer
            config["backward_layer"] = {"class_name": type(back).__name__, "config": back.get_config()}
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        config = copy.deepcopy(config)
        count = config.pop("num_constants", None)
        for key in ("layer", "backward_layer"):
            if key in config:
                config[key] = serialization.deserialize(config[key], custom_objects=custom_objects)
        made = cls(**config)
        made._num_constants = count
        return made
