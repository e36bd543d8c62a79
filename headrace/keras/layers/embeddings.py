"""Embedding: vectors for numbers."""

from __future__ import annotations

from typing import Any

from headrace.layers import ops
from headrace.layers.engine.config import floatx
from headrace.layers.functions import regularizers
from headrace.layers.keras.roles import RoleLayer


class Embedding(RoleLayer):
    """The vector of each number.

    Args:
      input_dim: how many numbers there are.
      output_dim: size of the vectors.
      embeddings_initializer: what they start from.
      embeddings_regularizer: function from them to a loss.
      activity_regularizer: function from the output to a loss.
      embeddings_constraint: function that optimizers apply to the new value.
      mask_zero: does 0 not count?
      input_length: length of the inputs, if it is fixed.
      **kwargs: as of Layer.
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        embeddings_initializer: Any = "uniform",
        embeddings_regularizer: Any = None,
        activity_regularizer: Any = None,
        embeddings_constraint: Any = None,
        mask_zero: bool = False,
        input_length: Any = None,
        **kwargs: Any,
    ) -> None:
        if "input_shape" not in kwargs and "batch_input_shape" not in kwargs:
            kwargs["input_shape"] = (input_length,) if input_length else (None,)
        kwargs["dtype"] = kwargs.pop("dtype", None) or floatx()
        kwargs["autocast"] = False  # the numbers are not floats
        super().__init__(activity_regularizer=regularizers.get(activity_regularizer), **kwargs)
        self.input_dim, self.output_dim = input_dim, output_dim
        self._set_roles(embeddings=(embeddings_initializer, embeddings_regularizer, embeddings_constraint))
        self.mask_zero = self.supports_masking = mask_zero
        self.input_length = input_length

    def build(self, input_shape: Any) -> None:
        self.embeddings = self._role_weight("embeddings", (self.input_dim, self.output_dim))
        self.built = True

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return ops.not_equal(inputs, 0) if self.mask_zero else None

    def compute_output_shape(self, input_shape: Any) -> Any:
        known = ops.as_shape(input_shape).as_list()
        if self.input_length is None:
            return ops.as_shape([*known, self.output_dim])
        fixed = (
            list(self.input_length) if isinstance(self.input_length, list | tuple) else [self.input_length]
        )
        fault = f'"input_length" is {self.input_length}, but received input has shape {tuple(known)}'
        if len(fixed) != len(known) - 1:
            raise ValueError(fault)
        for i, (wanted, size) in enumerate(zip(fixed, known[1:])):
            if None not in (wanted, size) and wanted != size:
                raise ValueError(fault)
            fixed[i] = size if wanted is None else wanted
        return ops.as_shape([known[0], *fixed, self.output_dim])

    def call(self, inputs: Any) -> Any:  # type: ignore[override]
        if inputs.dtype.name not in ("int32", "int64"):
            inputs = ops.cast(inputs, "int32")
        return ops.embedding_lookup(self.embeddings, inputs)

    def get_config(self) -> dict[str, Any]:
        return self._config("input_dim", "output_dim", "mask_zero", "input_length") | {
            "activity_regularizer": regularizers.serialize(self.activity_regularizer)
        }
