"""Inputs of models."""

from __future__ import annotations

from typing import Any

from headrace.layers import ops
from headrace.layers.engine.config import floatx
from headrace.layers.engine.history import Call
from headrace.layers.engine.layer import Layer
from headrace.layers.engine.layer_names import unique_object_name
from headrace.layers.engine.model_graph import get_graph


class InputLayer(Layer):
    """The place of an input: a placeholder, or a given tensor.

    Args:
      input_shape: shape of one example.
      batch_size: how many examples, if that is fixed.
      dtype: element type.
      input_tensor: a tensor to use.
      sparse: is it sparse?
      name: its name.
      ragged: are rows of different lengths?
      **kwargs: `batch_input_shape`, the shape with the batch.
    """

    def __init__(
        self,
        input_shape: Any = None,
        batch_size: int | None = None,
        dtype: Any = None,
        input_tensor: Any = None,
        sparse: bool = False,
        name: str | None = None,
        ragged: bool = False,
        **kwargs: Any,
    ) -> None:
        if "batch_input_shape" in kwargs:
            whole = kwargs.pop("batch_input_shape")
            if input_shape is not None:
                raise ValueError("Only provide the input_shape OR batch_input_shape argument to InputLayer")
            if whole is not None:
                batch_size, input_shape = whole[0], tuple(whole[1:])
        if kwargs:
            raise ValueError("Unrecognized keyword arguments:", kwargs.keys())
        if dtype is None:
            dtype = floatx() if input_tensor is None else input_tensor.dtype.name
        elif input_tensor is not None and input_tensor.dtype != dtype:
            raise ValueError(f"`input_tensor.dtype` differs from `dtype`: {input_tensor.dtype} vs. {dtype}")
        with get_graph().as_default():
            super().__init__(name=name or unique_object_name("input", zero_based=False), dtype=dtype)
            self._graph = ops.get_default_graph()
            self._graph._scoped["keras_inputs"] = True
            self.built, self.sparse, self.ragged, self.batch_size = True, sparse, ragged, batch_size
            self.supports_masking = True
            self.is_placeholder = input_tensor is None
            if isinstance(input_shape, ops.TensorShape):
                input_shape = tuple(input_shape.as_list())
            elif isinstance(input_shape, int):
                input_shape = (input_shape,)
            if input_tensor is None:
                whole = None if input_shape is None else (batch_size, *input_shape)
                input_tensor = self._placeholder(whole)
                self._batch_input_shape: Any = whole
            else:
                self._batch_input_shape = tuple(input_tensor.shape.as_list())
            Call.of_layer(self, [], input_tensor)
            self._inbound_nodes[0].input_tensors = [input_tensor]
            self._inbound_nodes[0].input_shapes = self._inbound_nodes[0].output_shapes
            input_tensor._keras_mask = None

    def _placeholder(self, shape: Any) -> Any:
        if self.sparse:
            return ops.sparse_placeholder(self.dtype, shape, name=self.name)
        if self.ragged:
            return ops.ragged_placeholder(self.dtype, shape, name=self.name)
        return ops.placeholder(self.dtype, shape, name=self.name)

    def get_config(self) -> dict[str, Any]:
        return {
            "batch_input_shape": self._batch_input_shape,
            "dtype": self.dtype,
            "sparse": self.sparse,
            "ragged": self.ragged,
            "name": self.name,
        }


def Input(
    shape: Any = None,
    batch_size: int | None = None,
    name: str | None = None,
    dtype: Any = None,
    sparse: bool = False,
    tensor: Any = None,
    ragged: bool = False,
    **kwargs: Any,
) -> Any:
    """A tensor that a model will be fed with.

    Args:
      shape: shape of one example; None for sizes that are not known.
      batch_size: how many examples, if that is fixed.
      name: name of its layer.
      dtype: element type; default that of Keras' configuration.
      sparse: is it sparse?
      tensor: a tensor to use in place of a placeholder.
      ragged: are rows of different lengths?
      **kwargs: `batch_shape`, the shape with the batch.
    """
    if sparse and ragged:
        raise ValueError("Cannot set both sparse and ragged to True in a Keras input.")
    whole = kwargs.pop("batch_shape", None)
    if shape is not None and whole is not None:
        raise ValueError(
            "Only provide the shape OR batch_shape argument to Input, not both at the same time."
        )
    if shape is None and whole is None and tensor is None:
        raise ValueError(
            "Please provide to Input either a `shape` or a `tensor` argument. Note that `shape` does not "
            "include the batch dimension."
        )
    if kwargs:
        raise ValueError("Unrecognized keyword arguments:", kwargs.keys())
    if whole is not None:
        batch_size, shape = whole[0], whole[1:]
    layer = InputLayer(
        shape, batch_size, dtype=dtype, input_tensor=tensor, sparse=sparse, name=name, ragged=ragged
    )
    return layer.output
