"""Dense, Dropout and Flatten."""

from __future__ import annotations

import math
from typing import Any

from headrace.core import dtypes
from headrace.core.dtypes import as_dtype
from headrace.core.shapes import as_shape
from headrace.functions.array.array import identity, reshape, shape, transpose
from headrace.functions.array.tensordot import tensordot
from headrace.functions.control.cond import smart_cond
from headrace.functions.math.cast import cast
from headrace.functions.nn.activation import bias_add, dropout
from headrace.functions.sparse.math import sparse_tensor_dense_matmul
from headrace.functions.sparse.tensor import SparseTensor
from headrace.layers.engine.identifiers import get_activation, get_regularizer
from headrace.layers.engine.input_spec import InputSpec
from headrace.layers.engine.layer import Layer
from headrace.layers.engine.learning_phase import learning_phase
from headrace.layers.engine.windows import format_name
from headrace.layers.keras.roles import RoleLayer
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.linalg import matrix


class Dense(RoleLayer):
    """activation(inputs · kernel + bias), over the last dimension.

    Args:
      units: size of the last dimension of the output.
      activation: function of the output, or its name.
      use_bias: add a bias?
      kernel_initializer, bias_initializer: initializers, or their names.
      kernel_regularizer, bias_regularizer: functions from a variable to a loss.
      activity_regularizer: function from the output to a loss.
      kernel_constraint, bias_constraint: functions that optimizers apply to the new value.
      **kwargs: as of Layer; `input_dim`, the size of the last dimension of the inputs.
    """

    def __init__(
        self,
        units: int,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        if "input_dim" in kwargs:
            kwargs.setdefault("input_shape", (kwargs.pop("input_dim"),))
        super().__init__(activity_regularizer=get_regularizer(activity_regularizer), **kwargs)
        self.units = int(units)
        self.activation, self.use_bias = get_activation(activation), use_bias
        self._set_roles(
            kernel=(kernel_initializer, kernel_regularizer, kernel_constraint),
            bias=(bias_initializer, bias_regularizer, bias_constraint),
        )
        self.supports_masking = True
        self.input_spec = InputSpec(min_ndim=2)

    def build(self, input_shape: Any) -> None:
        kind = as_dtype(self.dtype or dtypes.float32)
        if not (kind.is_floating or kind.is_complex):
            raise TypeError(f"Unable to build `Dense` layer with non-floating point dtype {kind!r}")
        size = as_shape(input_shape).dim(-1)
        if size is None:
            raise ValueError("The last dimension of the inputs to `Dense` should be defined. Found `None`.")
        self.input_spec = InputSpec(min_ndim=2, axes={-1: size})
        self.kernel = self._role_weight("kernel", [size, self.units])
        self.bias = self._role_weight("bias", [self.units]) if self.use_bias else None
        self.built = True

    def call(self, inputs: Any) -> Any:  # type: ignore[override]
        rank = len(inputs.shape)
        if rank > 2:
            outputs = tensordot(inputs, self.kernel, [[rank - 1], [0]])
            outputs.set_shape([*inputs.shape.as_list()[:-1], self.units])
        elif isinstance(inputs, SparseTensor):
            outputs = sparse_tensor_dense_matmul(cast(inputs, self.dtype), self.kernel)
        else:
            outputs = matrix.matmul(cast(inputs, self.dtype), self.kernel)
        if self.use_bias:
            outputs = bias_add(outputs, self.bias)
        return self.activation(outputs)

    def compute_output_shape(self, input_shape: Any) -> Any:
        known = as_shape(input_shape).with_rank_at_least(2)
        if known.dim(-1) is None:
            raise ValueError(f"The innermost dimension of input_shape must be defined, but saw: {known}")
        return known[:-1].concatenate(self.units)

    def get_config(self) -> dict[str, Any]:
        return self._config("units", "use_bias")


class Dropout(Layer):
    """In training, elements set to 0 at random and the others scaled up; else the inputs.

    Args:
      rate: how likely an element is dropped.
      noise_shape: shape of what is drawn; None stands for the size of the inputs.
      seed: seed of the op.
      **kwargs: as of Layer.
    """

    def __init__(self, rate: Any, noise_shape: Any = None, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rate, self.noise_shape, self.seed = rate, noise_shape, seed
        self.supports_masking = True

    def _get_noise_shape(self, inputs: Any) -> Any:
        if self.noise_shape is None:
            return None
        known = shape(inputs)
        given = enumerate(self.noise_shape)
        return convert_to_tensor([known[i] if size is None else size for i, size in given])

    def call(self, inputs: Any, training: Any = None) -> Any:  # type: ignore[override]
        if training is None:
            training = learning_phase()

        def dropped() -> Any:
            noise_shape = self._get_noise_shape(inputs)
            return dropout(inputs, noise_shape=noise_shape, seed=self.seed, rate=self.rate)

        return smart_cond(training, dropped, lambda: identity(inputs))

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"rate": self.rate, "noise_shape": self.noise_shape, "seed": self.seed}


class Flatten(Layer):
    """Everything but the batch in one dimension.

    Args:
      data_format: channels_last, or channels_first: channels are put last, then flattened.
      **kwargs: as of Layer.
    """

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format = format_name(data_format)
        self.input_spec = InputSpec(min_ndim=1)

    def call(self, inputs: Any) -> Any:  # type: ignore[override]
        rank = inputs.shape.ndims
        if self.data_format == "channels_first" and rank is not None and rank > 1:
            inputs = transpose(inputs, [0, *range(2, rank), 1])
        sizes = inputs.shape.as_list()
        if None not in sizes[1:]:
            outputs = reshape(inputs, (-1, math.prod(sizes[1:])))
        else:
            outputs = reshape(inputs, (sizes[0] or shape(inputs)[0], -1))
        outputs.set_shape(self.compute_output_shape(inputs.shape))
        return outputs

    def compute_output_shape(self, input_shape: Any) -> Any:
        batch, *sizes = as_shape(input_shape).as_list()
        return as_shape([batch, math.prod(sizes) if all(sizes) else None])

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"data_format": self.data_format}
