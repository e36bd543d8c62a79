"""Locally connected layers: convolutions whose weights differ from place to place."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from headrace.keras.backend.local import local_conv
from headrace.layers import ops
from headrace.layers.engine.config import floatx, image_data_format
from headrace.layers.engine.input_spec import InputSpec
from headrace.layers.engine.windows import format_name, output_length, padding_name, sizes
from headrace.layers.functions import activations, regularizers
from headrace.layers.keras.roles import RoleLayer


class _Local(RoleLayer):
    """What both share.

    Args:
      filters: how many channels come out.
      kernel_size: size of the window.
      strides: how far it moves.
      padding: valid; with implementations 2 and 3 also same.
      data_format: channels_last or channels_first.
      activation: function of the output, or its name.
      use_bias: add a bias, of its own at each place?
      kernel_initializer, bias_initializer: initializers, or their names.
      kernel_regularizer, bias_regularizer: functions from a variable to a loss.
      activity_regularizer: function from the output to a loss.
      kernel_constraint, bias_constraint: functions that optimizers apply to the new value.
      implementation: 1 by windows, 2 one large product with a mask, 3 a sparse product.
      **kwargs: as of Layer.
    """

    _rank = 0

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str | None = None,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        implementation: int = 1,
        **kwargs: Any,
    ) -> None:
        super().__init__(activity_regularizer=regularizers.get(activity_regularizer), **kwargs)
        self.filters = filters
        self.kernel_size = sizes(kernel_size, self._rank, "kernel_size")
        self.strides = sizes(strides, self._rank, "strides")
        self.padding = padding_name(padding)
        if self.padding != "valid" and implementation == 1:
            raise ValueError(
                f'Invalid border mode for {type(self).__name__} (only "valid" is supported if '
                "implementation is "
                f"1): {padding}"
            )
        self.data_format = format_name(data_format or image_data_format())
        self.activation, self.use_bias = activations.get(activation), use_bias
        self._set_roles(
            kernel=(kernel_initializer, kernel_regularizer, kernel_constraint),
            bias=(bias_initializer, bias_regularizer, bias_constraint),
        )
        self.implementation = implementation
        self.input_spec = InputSpec(ndim=self._rank + 2)

    @property
    def _first_channels(self) -> bool:
        return self.data_format == "channels_first"

    def _outer(self, lengths: Any) -> tuple[Any, ...]:
        windows = zip(lengths, self.kernel_size, self.strides)
        return tuple(output_length(n, window, self.padding, stride) for n, window, stride in windows)

    def build(self, input_shape: Any) -> None:
        known = ops.as_shape(input_shape).as_list()
        channels = known[1 if self._first_channels else -1]
        space: Any = tuple(known[2:] if self._first_channels else known[1:-1])
        if channels is None or (None in space and self._rank == 2):
            raise ValueError(
                "The spatial dimensions of the inputs to  a LocallyConnected2D layer should be "
                "fully-defined, but "
                f"layer received the inputs shape {tuple(known)}"
                if self._rank == 2
                else f"Axis 2 of input should be fully-defined. Found shape: {tuple(known)}"
            )
        outer = self._out = self._outer(space)
        window = int(np.prod(self.kernel_size)) * channels
        if self.implementation == 1:
            shape: Any = (int(np.prod(outer)), window, self.filters)
        elif self.implementation == 2:
            if self._first_channels:
                shape = (channels, *space, self.filters, *outer)
            else:
                shape = (*space, channels, *outer, self.filters)
            mask = np.array(self._reach_mask(space, outer), floatx())
            axes = (0, self._rank + 1) if self._first_channels else (self._rank, 2 * self._rank + 1)
            self._mask = np.expand_dims(mask, axes)
        elif self.implementation == 3:
            self._places = self._pairs(space, outer, channels)
            shape = (len(self._places),)
            self._dense = (int(np.prod(outer)) * self.filters, int(np.prod(space)) * channels)
        else:
            raise ValueError(f"Unrecognized implementation mode: {self.implementation}.")
        self.kernel = self._role_weight("kernel", shape)
        self.bias = self._role_weight("bias", (*outer, self.filters)) if self.use_bias else None
        self.input_spec = InputSpec(ndim=self._rank + 2, axes={1 if self._first_channels else -1: channels})
        self.built = True

    def _windows(self, space: Any, outer: Any) -> Any:
        """(place in the output, places of the inputs that it is computed of)."""
        for place in itertools.product(*map(range, outer)):
            ranges = []
            for at, length, window, stride in zip(place, space, self.kernel_size, self.strides):
                # An even window reaches one element further to the left, as in TF.
                begin = at * stride - (0 if self.padding == "valid" else (window - 1) // 2)
                ranges.append(range(max(0, begin), min(length, begin + window)))
            yield place, itertools.product(*ranges)

    def _reach_mask(self, space: Any, outer: Any) -> Any:
        mask = np.zeros((*space, *outer), bool)
        for place, inputs in self._windows(space, outer):
            for source in inputs:
                mask[(*source, *place)] = True
        return mask

    def _pairs(self, space: Any, outer: Any, channels: int) -> Any:
        """Which element of the output depends on which of the input: sorted pairs of numbers."""
        found = []
        for place, inputs in self._windows(space, outer):
            for source in inputs:
                for a, b in itertools.product(range(self.filters), range(channels)):
                    out = np.ravel_multi_index(self._with(place, a), self._with(outer, self.filters))
                    into = np.ravel_multi_index(self._with(source, b), self._with(space, channels))
                    found.append((int(out), int(into)))
        return sorted(found)

    def _with(self, place: Any, channel: int) -> tuple[int, ...]:
        return (channel, *place) if self._first_channels else (*place, channel)

    def compute_output_shape(self, input_shape: Any) -> Any:
        known = ops.as_shape(input_shape).as_list()
        space = known[2:] if self._first_channels else known[1:-1]
        return ops.as_shape([known[0], *self._with(self._outer(space), self.filters)])

    def call(self, inputs: Any) -> Any:  # type: ignore[override]
        if self.implementation == 1:
            outputs = local_conv(
                inputs, self.kernel, self.kernel_size, self.strides, self._out, self.data_format
            )
        else:
            flat = ops.reshape(inputs, (ops.shape(inputs)[0], -1))
            if self.implementation == 2:
                kernel = self._mask * self.kernel
                into = int(np.prod(self.kernel.shape.as_list()[: self._rank + 1]))
                found = ops.matmul(flat, ops.reshape(kernel, (into, -1)))
            else:
                kernel = ops.SparseTensor(
                    ops.constant(np.array(self._places, np.int64)),
                    ops.convert_to_tensor(self.kernel),
                    np.array(self._dense, np.int64),
                )
                found = ops.transpose(ops.sparse_tensor_dense_matmul(kernel, flat, adjoint_b=True))
            outputs = ops.reshape(found, (-1, *self._with(self._out, self.filters)))
        if self.use_bias:
            bias = self.bias
            if self._first_channels:
                bias = ops.transpose(bias, [self._rank, *range(self._rank)])
            outputs = outputs + ops.expand_dims(bias, 0)
        return self.activation(outputs)

    def get_config(self) -> dict[str, Any]:
        return self._config(
            "filters", "kernel_size", "strides", "padding", "data_format", "use_bias", "implementation"
        )


class LocallyConnected1D(_Local):
    """Along one dimension."""

    _rank = 1


class LocallyConnected2D(_Local):
    """Over images."""

    _rank = 2

    def __init__(
        self, filters: int, kernel_size: Any, strides: Any = (1, 1), *args: Any, **kwargs: Any
    ) -> None:
        super().__init__(filters, kernel_size, strides, *args, **kwargs)
