"""Layers that give their inputs another shape or order, or hand them on: activations, lambdas, masks."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.keras.engine.shapes import as_tuples
from headrace.layers import ops
from headrace.layers.engine.function_config import dumped, loaded
from headrace.layers.engine.input_spec import InputSpec
from headrace.layers.engine.layer import Layer
from headrace.layers.functions import activations, regularizers
from headrace.layers.ops import nest


class Activation(Layer):
    """A function of each element.

    Args:
      activation: the function, or its name.
      **kwargs: as of Layer.
    """

    def __init__(self, activation: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True
        self.activation = activations.get(activation)

    def call(self, inputs: Any) -> Any:  # type: ignore[override]
        return self.activation(inputs)

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"activation": activations.serialize(self.activation)}


class ActivityRegularization(Layer):
    """Adds a loss of its inputs: of their sizes and squares.

    Args:
      l1, l2: what the two count.
      **kwargs: as of Layer.
    """

    def __init__(self, l1: float = 0.0, l2: float = 0.0, **kwargs: Any) -> None:
        super().__init__(activity_regularizer=regularizers.L1L2(l1=l1, l2=l2), **kwargs)
        self.supports_masking = True
        self.l1, self.l2 = l1, l2

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"l1": self.l1, "l2": self.l2}


class Reshape(Layer):
    """Examples in another shape.

    Args:
      target_shape: the shape of one example; -1 stands for the rest.
      **kwargs: as of Layer.
    """

    def __init__(self, target_shape: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.target_shape = tuple(target_shape)

    def _sizes(self, given: Any) -> list[Any]:
        known, found = 1, list(self.target_shape)
        total = int(np.prod(given, dtype=int))
        rest = [i for i, size in enumerate(found) if size < 0]
        if len(rest) > 1:
            raise ValueError("Can only specify one unknown dimension.")
        for size in found:
            known *= size if size >= 0 else 1
        message = "total size of new array must be unchanged"
        if rest:
            if not known or total % known:
                raise ValueError(message)
            found[rest[0]] = total // known
        elif total != known:
            raise ValueError(message)
        return found

    def compute_output_shape(self, input_shape: Any) -> Any:
        batch, *sizes = ops.as_shape(input_shape).as_list()
        if None in sizes:
            return ops.as_shape([batch, *(None if size == -1 else size for size in self.target_shape)])
        return ops.as_shape([batch, *self._sizes(sizes)])

    def call(self, inputs: Any) -> Any:  # type: ignore[override]
        outputs = ops.reshape(inputs, (ops.shape(inputs)[0], *self.target_shape))
        if not ops.executing_eagerly():
            outputs.set_shape(self.compute_output_shape(inputs.shape))
        return outputs

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"target_shape": self.target_shape}


class Permute(Layer):
    """The dimensions of examples in another order.

    Args:
      dims: which one comes where, from 1.
      **kwargs: as of Layer.
    """

    def __init__(self, dims: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.dims = tuple(dims)
        if sorted(dims) != list(range(1, len(dims) + 1)):
            raise ValueError(
                f"Invalid permutation `dims` for Permute Layer: {dims}. The set of indices in `dims` must be "
                "consecutive and start from 1."
            )
        self.input_spec = InputSpec(ndim=len(self.dims) + 1)

    def compute_output_shape(self, input_shape: Any) -> Any:
        sizes = ops.as_shape(input_shape).as_list()
        return ops.as_shape([sizes[0], *(sizes[i] for i in self.dims)])

    def call(self, inputs: Any) -> Any:  # type: ignore[override]
        return ops.transpose(inputs, perm=(0, *self.dims))

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"dims": self.dims}


class RepeatVector(Layer):
    """Each example `n` times.

    Args:
      n: how often.
      **kwargs: as of Layer.
    """

    def __init__(self, n: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.n = n
        self.input_spec = InputSpec(ndim=2)

    def compute_output_shape(self, input_shape: Any) -> Any:
        sizes = ops.as_shape(input_shape).as_list()
        return ops.as_shape([sizes[0], self.n, sizes[1]])

    def call(self, inputs: Any) -> Any:  # type: ignore[override]
        return ops.tile(ops.expand_dims(inputs, 1), ops.stack([1, self.n, 1]))

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"n": self.n}


class Masking(Layer):
    """Time steps in which all is `mask_value` do not count.

    Args:
      mask_value: the value.
      **kwargs: as of Layer.
    """

    def __init__(self, mask_value: Any = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking, self.mask_value = True, mask_value

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return ops.reduce_any(ops.not_equal(inputs, self.mask_value), axis=-1)

    def call(self, inputs: Any) -> Any:  # type: ignore[override]
        kept = ops.reduce_any(ops.not_equal(inputs, self.mask_value), axis=-1, keepdims=True)
        outputs = inputs * ops.cast(kept, inputs.dtype)
        outputs._keras_mask = ops.squeeze(kept, axis=-1)
        return outputs

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"mask_value": self.mask_value}


class Lambda(Layer):
    """Any function as a layer.

    Args:
      function: the function.
      output_shape: the shape of its result, or a function that gives it; without the batch.
      mask: the mask of its result, or a function that gives it.
      arguments: other arguments of the function.
      **kwargs: as of Layer.
    """

    def __init__(
        self, function: Any, output_shape: Any = None, mask: Any = None, arguments: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.function, self.arguments = function, arguments or {}
        if mask is not None:
            self.supports_masking = True
        self.mask, self._output_shape = mask, output_shape

    @property
    def _call_fn_args(self) -> list[str]:
        return ["inputs", "mask", "training"]

    def compute_output_shape(self, input_shape: Any) -> Any:
        if self._output_shape is None:
            if ops.executing_eagerly():
                return super().compute_output_shape(input_shape)
            raise NotImplementedError(
                "We could not automatically infer the static shape of the Lambda's output. Please specify "
                "the "
                "`output_shape` for this Lambda."
            )
        if callable(self._output_shape):
            return as_tuples(self._output_shape(input_shape))
        batch = ops.as_shape(nest.flatten(as_tuples(input_shape, as_leaf=True))[0].value).as_list()[0]
        return ops.as_shape([batch, *ops.as_shape(self._output_shape).as_list()])

    def call(self, inputs: Any, mask: Any = None, training: Any = None) -> Any:  # type: ignore[override]
        given = dict(self.arguments)
        names = _names(self.function)
        if mask is not None and "mask" in names:
            given["mask"] = mask
        if training is not None and "training" in names:
            given["training"] = training
        return self.function(inputs, **given)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return self.mask(inputs, mask) if callable(self.mask) else self.mask

    def get_config(self) -> dict[str, Any]:
        config = super().get_config() | dumped("function", self.function)
        for key, value in (("output_shape", self._output_shape), ("mask", self.mask)):
            if callable(value):
                config |= dumped(key, value)
            else:
                config |= {key: value, f"{key}_type": "raw", f"{key}_module": None}
        return config | {"arguments": self.arguments, "module": config.pop("function_module")}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        config = dict(config)
        config["function_module"] = config.pop("module", None)
        found = {"function": loaded("function", config, custom_objects)}
        for key in ("output_shape", "mask"):
            if config.get(f"{key}_type", "raw") == "raw":
                found[key] = config.pop(key, None)
                config.pop(f"{key}_type", None)
                config.pop(f"{key}_module", None)
            else:
                found[key] = loaded(key, config, custom_objects)
        arguments = {k: _array(v) for k, v in config.pop("arguments", {}).items()}
        return cls(**found, arguments=arguments, **config)


def _array(value: Any) -> Any:
    is_array = isinstance(value, dict) and value.get("type") == "ndarray"
    return np.array(value["value"]) if is_array else value


def _names(function: Any) -> Any:
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return () if code is None else code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
