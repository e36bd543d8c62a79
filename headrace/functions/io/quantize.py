"""tf.quantization.*: floats as small integers, and floats that only lost precision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core import dtypes
from headrace.core.dtypes import DTypeLike
from headrace.graph.tensor import Tensor
from headrace.ops.quantized import fake_quantize, image
from headrace.ops.quantized import quantize as ops


def quantize(
    input: Any,
    min_range: Any,
    max_range: Any,
    T: Any,
    mode: str = "MIN_COMBINED",
    round_mode: str = "HALF_AWAY_FROM_ZERO",
    name: str | None = None,
) -> Any:
    """Floats as integers of a quantized type.

    Args:
      input: a float32 tensor.
      min_range: the least value to hold; smaller ones become it.
      max_range: the greatest value to hold.
      T: the quantized type, `tf.quint8` for one.
      mode: "MIN_COMBINED", "MIN_FIRST" (zero is exact) or "SCALED" (symmetric around zero).
      round_mode: what happens to halves; "HALF_TO_EVEN" goes with "SCALED" alone.
      name: name of the node.

    Returns:
      (output, output_min, output_max): the integers and the range that they cover.
    """
    return ops.quantize_v2(input, min_range, max_range, T, mode, round_mode, name=name)


def quantize_v2(
    input: Any,
    min_range: Any,
    max_range: Any,
    T: Any,
    mode: str = "MIN_COMBINED",
    name: str | None = None,
    round_mode: str = "HALF_AWAY_FROM_ZERO",
) -> Any:
    """Please use `tf.quantization.quantize`."""
    return ops.quantize_v2(input, min_range, max_range, T, mode, round_mode, name=name)


def dequantize(
    input: Any, min_range: Any, max_range: Any, mode: str = "MIN_COMBINED", name: str | None = None
) -> Tensor:
    """The floats that quantized integers stand for.

    Args:
      input: a tensor of a quantized type.
      min_range: the value of its least integer.
      max_range: the value of its greatest integer.
      mode: as in `tf.quantization.quantize`.
      name: name of the node.
    """
    return ops.dequantize(input, min_range, max_range, mode, name=name)


def quantize_and_dequantize(
    input: Any,
    input_min: Any,
    input_max: Any,
    signed_input: bool = True,
    num_bits: int = 8,
    range_given: bool = False,
    round_mode: str = "HALF_TO_EVEN",
    name: str | None = None,
    narrow_range: bool = False,
) -> Tensor:
    """Values as a few bits would hold them.

    Args:
      input: a float tensor.
      input_min: the least value to hold, if `range_given`.
      input_max: the greatest value to hold, if `range_given`.
      signed_input: the bits hold negative numbers, too.
      num_bits: how many bits.
      range_given: use the given range, not that of the input.
      round_mode: what happens to halves: "HALF_TO_EVEN" or "HALF_UP".
      name: name of the node.
      narrow_range: leave the least integer out, so that the range is symmetric.
    """
    return fake_quantize.quantize_and_dequantize_v2(
        input,
        input_min,
        input_max,
        signed_input=signed_input,
        num_bits=num_bits,
        range_given=range_given,
        round_mode=round_mode,
        narrow_range=narrow_range,
        name=name,
    )


def fake_quant_with_min_max_args(
    inputs: Any,
    min: float = -6,
    max: float = 6,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """Values as `num_bits` bits between fixed ends would hold them; gradients pass inside.

    Args:
      inputs: a float32 tensor.
      min: the least value to hold.
      max: the greatest value to hold.
      num_bits: 2 to 16.
      narrow_range: leave the least integer out.
      name: name of the node.
    """
    return fake_quantize.fake_quant_with_min_max_args(
        inputs, min=min, max=max, num_bits=num_bits, narrow_range=narrow_range, name=name
    )


def fake_quant_with_min_max_args_gradient(
    gradients: Any,
    inputs: Any,
    min: float = -6,
    max: float = 6,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """The gradient of `fake_quant_with_min_max_args`: what lies within the range."""
    return fake_quantize.fake_quant_with_min_max_args_gradient(
        gradients, inputs, min=min, max=max, num_bits=num_bits, narrow_range=narrow_range, name=name
    )


def quantized_conv2d(
    input: Any,
    filter: Any,
    min_input: Any,
    max_input: Any,
    min_filter: Any,
    max_filter: Any,
    strides: int | Sequence[int] | None,
    padding: str,
    out_type: DTypeLike = dtypes.qint32,
    dilations: Any = [1, 1, 1, 1],  # noqa: B006
    name: str | None = None,
) -> Any:
    """The convolution of a quantized image with a quantized filter.

    Args:
      input: an image [batch, height, width, channels].
      filter: a filter [height, width, channels, outputs].
      min_input: the value of the least integer of `input`.
      max_input: the value of the greatest one.
      min_filter: the value of the least integer of `filter`.
      max_filter: the value of the greatest one.
      strides: four numbers.
      padding: "SAME" or "VALID".
      out_type: the quantized type of the result.
      dilations: four numbers.
      name: name of the node.

    Returns:
      (output, min_output, max_output).
    """
    return image.quantized_conv2d(
        input,
        filter,
        min_input,
        max_input,
        min_filter,
        max_filter,
        out_type=out_type,
        strides=strides,
        padding=padding,
        dilations=dilations,
        name=name,
    )
