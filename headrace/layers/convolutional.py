"""tf.layers: convolutions, and their functions.

All take `filters`, `kernel_size`, `strides`, `padding` (valid or same), `data_format` (channels_last or
channels_first), `dilation_rate`, `activation`, `use_bias`; for each variable an initializer (None: that
of the variable scope, else Glorot's), a regularizer and a constraint; `activity_regularizer`,
`trainable` and `name`.  These are Keras's arguments but for some defaults.
"""

from __future__ import annotations

from headrace.core.families import arguments_of
from headrace.layers.engine.base import Layer
from headrace.layers.engine.functional import function_of
from headrace.layers.keras import convolution_transpose, convolutional, separable
from headrace.layers.keras.convolutional import Conv
from headrace.layers.keras.separable import SeparableConv
from headrace.variables.initializers.initializers import Zeros

_PLAIN = {"data_format": "channels_last", "kernel_initializer": None, "bias_initializer": Zeros()}
_SEPARABLE = {
    "data_format": "channels_last",
    "depthwise_initializer": None,
    "pointwise_initializer": None,
    "bias_initializer": Zeros(),
    "trainable": True,
    "name": None,
}


@arguments_of(Conv, "rank", **_PLAIN)
class Conv1D(convolutional.Conv1D, Layer):
    """Convolution along one dimension: [batch, length, channels]."""


@arguments_of(Conv, "rank", **_PLAIN, strides=(1, 1), dilation_rate=(1, 1))
class Conv2D(convolutional.Conv2D, Layer):
    """Convolution of images: [batch, height, width, channels]."""


@arguments_of(Conv, "rank", **_PLAIN, strides=(1, 1, 1), dilation_rate=(1, 1, 1))
class Conv3D(convolutional.Conv3D, Layer):
    """Convolution of volumes: [batch, depth, height, width, channels]."""


@arguments_of(SeparableConv, "rank", **_SEPARABLE)
class SeparableConv1D(separable.SeparableConv1D, Layer):
    """Along one dimension: first each channel by itself, then the channels with each other."""


@arguments_of(SeparableConv, "rank", **_SEPARABLE, strides=(1, 1), dilation_rate=(1, 1))
class SeparableConv2D(separable.SeparableConv2D, Layer):
    """Of images: first each channel by itself, then the channels with each other."""


@arguments_of(Conv, "rank", "dilation_rate", **_PLAIN, strides=(1, 1))
class Conv2DTranspose(convolution_transpose.Conv2DTranspose, Layer):
    """The transpose of a convolution of images."""


@arguments_of(Conv, "rank", "dilation_rate", **_PLAIN, strides=(1, 1, 1))
class Conv3DTranspose(convolution_transpose.Conv3DTranspose, Layer):
    """The transpose of a convolution of volumes."""


conv1d = function_of(Conv1D, "conv1d")
conv2d = function_of(Conv2D, "conv2d")
conv3d = function_of(Conv3D, "conv3d")
separable_conv1d = function_of(SeparableConv1D, "separable_conv1d")
separable_conv2d = function_of(SeparableConv2D, "separable_conv2d")
conv2d_transpose = function_of(Conv2DTranspose, "conv2d_transpose")
conv3d_transpose = function_of(Conv3DTranspose, "conv3d_transpose")
