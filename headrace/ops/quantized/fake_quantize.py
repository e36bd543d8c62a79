"""Floats that went through a quantized type: the loss of precision without the integers.

Gradients pass straight through, within the range.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np

from headrace.core.dtypes import FLOATS
from headrace.core.errors import require
from headrace.core.shapes import SCALAR, make_shape, show
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.precision import clamp
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import merge, merge_sizes, scalars, with_rank, with_rank_at_least
from headrace.ops.declaration.shape_rules import same
from headrace.ops.declaration.signature import String
from headrace.ops.quantized.quantize import half_away, scalar

F = np.float32
BITS = {"num_bits": 8, "narrow_range": False}


class Grid:
    """The values that `num_bits` bits can hold between two ends, moved so that zero is one of them.

    The ends may be vectors: one range for each channel.
    """

    def __init__(self, low, high, num_bits, narrow_range):
        require(2 <= num_bits <= 16, "num_bits must be between 2 and 16, inclusive")
        first, last = F(1 if narrow_range else 0), F((1 << num_bits) - 1)
        low, high = np.asarray(low, F), np.asarray(high, F)
        self.is_empty = (low == 0) & (high == 0)
        with np.errstate(all="ignore"):
            self.scale = ((high - low) / (last - first)).astype(F)
            zero = (first - low / self.scale).astype(F)
            zero = np.where(zero < first, first, np.where(zero > last, last, half_away(zero)))
            self.low = ((first - zero) * self.scale).astype(F)
            self.high = ((last - zero) * self.scale).astype(F)

    def snapped(self, x):
        """Every value replaced by the nearest one of the grid."""
        with np.errstate(all="ignore"):
            zero = np.trunc(-self.low / self.scale + F(0.5))
            steps = np.floor((clamp(x, self.low, self.high) - self.low) / self.scale + F(0.5))
            return np.where(self.is_empty, F(0), (steps - zero) * self.scale).astype(F)

    def split(self, x, dy):
        """The gradient inside of the range, below it and above it."""
        inside = self.is_empty | ((x >= self.low) & (x <= self.high))
        below, above = ~self.is_empty & (x < self.low), ~self.is_empty & (x > self.high)
        return dy * inside, dy * below, dy * above


def check_equal_sizes(dy, x):
    require(dy.shape == x.shape, "gradient and input must be the same size")


# -- a fixed range ------------------------------------------------------------------------------
def _fixed_grid(low, high, num_bits, narrow_range):
    require(low < high, f"min has to be smaller than max, was: {low:g} >= {high:g}")
    return Grid(low, high, num_bits, narrow_range)


@op(
    "FakeQuantWithMinMaxArgs",
    "inputs: float32 -> outputs: float32",
    attrs={"min": -6.0, "max": 6.0} | BITS,
    shape=same,
)
def fake_quant_with_min_max_args(inputs, *, min, max, num_bits, narrow_range):
    """Values as `num_bits` bits between fixed ends would hold them."""
    return _fixed_grid(min, max, num_bits, narrow_range).snapped(inputs)


@fake_quant_with_min_max_args.gradient
def _(node, dy):
    return fake_quant_with_min_max_args_gradient(dy, node.inputs[0], **node.attrs)


def _merged(gradients, inputs):
    return merge(gradients, inputs)


@op(
    "FakeQuantWithMinMaxArgsGradient",
    "gradients: float32, inputs: float32 -> backprops: float32",
    attrs={"min": -6.0, "max": 6.0} | BITS,
    shape=_merged,
)
def fake_quant_with_min_max_args_gradient(gradients, inputs, *, min, max, num_bits, narrow_range):
    """The gradient where the input lay within the range."""
    check_equal_sizes(gradients, inputs)
    return _fixed_grid(min, max, num_bits, narrow_range).split(inputs, gradients)[0]


VALUES = np.array([[-7.0, -0.1, 0.0], [0.26, 3.1, 9.0]], F)


@fake_quant_with_min_max_args.samples
def _(rng):
    yield Sample(VALUES, grad=False)
    yield Sample(VALUES, min=-0.5, max=7.5, num_bits=4, narrow_range=True, grad=False)
    yield Sample(VALUES, min=1.0, max=3.0, grad=False, note="without zero")
    yield ErrorSample(VALUES, min=2.0, max=1.0, raises="min has to be smaller than max")
    yield ErrorSample(VALUES, num_bits=17, raises="num_bits must be between 2 and 16")


@fake_quant_with_min_max_args_gradient.samples
def _(rng):
    yield Sample(np.ones((2, 3), F), VALUES, grad=False)


# -- a range that is learned --------------------------------------------------------------------
def vars_shape(inputs, min, max):
    scalars(min, max)
    return inputs.plain()


@op(
    "FakeQuantWithMinMaxVars",
    "inputs: float32, min: float32, max: float32 -> outputs: float32",
    attrs=BITS,
    shape=vars_shape,
)
def fake_quant_with_min_max_vars(inputs, min, max, *, num_bits, narrow_range):
    """Values as `num_bits` bits between the given ends would hold them."""
    min, max = scalar(min, "min"), scalar(max, "max")
    return Grid(min, max, num_bits, narrow_range).snapped(inputs)


@fake_quant_with_min_max_vars.gradient
def _(node, dy):
    return fake_quant_with_min_max_vars_gradient(dy, *node.inputs, **node.attrs)


def vars_gradient_shape(gradients, inputs, min, max):
    scalars(min, max)
    return [merge(gradients, inputs), SCALAR, SCALAR]


@op(
    "FakeQuantWithMinMaxVarsGradient",
    "gradients: float32, inputs: float32, min: float32, "
    "max: float32 -> backprops_wrt_input: float32, backprop_wrt_min: float32, "
    "backprop_wrt_max: float32",
    attrs=BITS,
    shape=vars_gradient_shape,
)
def fake_quant_with_min_max_vars_gradient(gradients, inputs, min, max, *, num_bits, narrow_range):
    """Gradients: of the input within the range, of each end what lies beyond it."""
    check_equal_sizes(gradients, inputs)
    min, max = scalar(min, "min"), scalar(max, "max")
    inside, below, above = Grid(min, max, num_bits, narrow_range).split(inputs, gradients)
    return inside, below.sum(dtype=F), above.sum(dtype=F)


@fake_quant_with_min_max_vars.samples
def _(rng):
    for low, high in ((-1.0, 3.0), (0.0, 0.0), (0.5, 2.0)):
        yield Sample(VALUES, F(low), F(high), grad=False)
    yield Sample(VALUES, F(-1.0), F(3.0), num_bits=2, narrow_range=True, grad=False)
    yield ErrorSample(VALUES, F([-1.0, -2.0]), F(3.0), raises="rank 0|a single float element")


@fake_quant_with_min_max_vars_gradient.samples
def _(rng):
    dy = np.arange(6, dtype=F).reshape(2, 3)
    for low, high in ((-1.0, 3.0), (0.0, 0.0)):
        yield Sample(dy, VALUES, F(low), F(high), grad=False)


# -- one range for each channel -----------------------------------------------------------------
def _check_channels(inputs, low, high):
    depth = inputs.shape[-1] if inputs.ndim else 0
    for name, part in (("min", low), ("max", high)):
        require(part.shape == (depth,), f"{name} has incorrect size, expected {depth} was {part.size}")


def channel_shape(inputs, min, max):
    shape = with_rank_at_least(inputs, 1)
    (low,), (high,) = with_rank(min, 1).sizes, with_rank(max, 1).sizes
    depth = merge_sizes(low, high)
    if shape.rank is None:
        return shape
    return make_shape((*shape.sizes[:-1], merge_sizes(shape.sizes[-1], depth)))


@op(
    "FakeQuantWithMinMaxVarsPerChannel",
    "inputs: float32, min: float32, max: float32 -> outputs: float32",
    attrs=BITS,
    shape=channel_shape,
)
def fake_quant_with_min_max_vars_per_channel(inputs, min, max, *, num_bits, narrow_range):
    """As FakeQuantWithMinMaxVars, with other ends for each entry of the last dimension."""
    _check_channels(inputs, min, max)
    return Grid(min, max, num_bits, narrow_range).snapped(inputs)


@fake_quant_with_min_max_vars_per_channel.gradient
def _(node, dy):
    return fake_quant_with_min_max_vars_per_channel_gradient(dy, *node.inputs, **node.attrs)


def channel_gradient_shape(gradients, inputs, min, max):
    shape = channel_shape(merge(gradients, inputs), min, max)
    depth = merge_sizes(min.dim(0), max.dim(0)) if shape.rank is None else shape.sizes[-1]
    return [shape, make_shape((depth,)), make_shape((depth,))]


@op(
    "FakeQuantWithMinMaxVarsPerChannelGradient",
    "gradients: float32, inputs: float32, "
    "min: float32, max: float32 -> backprops_wrt_input: float32, backprop_wrt_min: float32, "
    "backprop_wrt_max: float32",
    attrs=BITS,
    shape=channel_gradient_shape,
)
def fake_quant_with_min_max_vars_per_channel_gradient(gradients, inputs, min, max, *, num_bits, narrow_range):
    """As FakeQuantWithMinMaxVarsGradient, channel by channel."""
    check_equal_sizes(gradients, inputs)
    _check_channels(inputs, min, max)
    inside, below, above = Grid(min, max, num_bits, narrow_range).split(inputs, gradients)
    axes = tuple(range(inputs.ndim - 1))
    return inside, below.sum(axis=axes, dtype=F), above.sum(axis=axes, dtype=F)


@fake_quant_with_min_max_vars_per_channel.samples
def _(rng):
    low, high = np.array([-1.0, 0.0, -2.0], F), np.array([3.0, 0.0, 1.0], F)
    yield Sample(VALUES, low, high, grad=False)
    yield ErrorSample(VALUES, low[:2], high[:2], raises="must be equal|incorrect size")


@fake_quant_with_min_max_vars_per_channel_gradient.samples
def _(rng):
    low, high = np.array([-1.0, 0.0, -2.0], F), np.array([3.0, 0.0, 1.0], F)
    yield Sample(np.arange(6, dtype=F).reshape(2, 3), VALUES, low, high, grad=False)


# -- QuantizeAndDequantize ----------------------------------------------------------------------
def _half_up(x):
    return np.floor(x + x.dtype.type(0.5))


def _through(x, low, high, signed, num_bits, given, narrow=False, turn=np.rint):
    """`x` as integers of `num_bits` bits with one scale would hold it."""
    require(
        0 < num_bits < (62 if signed else 63),
        f"num_bits is out of range: {num_bits} with signed_input_ {int(signed)}",
    )
    kind = x.dtype.type
    if not given:
        low, high = (x.min(), x.max()) if x.size else (kind(0), kind(0))
    low, high = kind(np.asarray(low).reshape(())[()]), kind(np.asarray(high).reshape(())[()])
    if given:
        require(low <= high, f"Invalid range: input_min {float(low):g} > input_max {float(high):g}")
    first = -(1 << (num_bits - 1)) + bool(narrow) if signed else 0
    last = (1 << (num_bits - 1)) - 1 if signed else (1 << num_bits) - 1
    largest = _largest(x.dtype)
    from_low = kind(kind(first) / low) if first * float(low) > 0 else largest
    from_high = kind(kind(last) / high) if last * float(high) > 0 else largest
    with np.errstate(all="ignore"):
        if from_low < from_high:
            scale, back = from_low, kind(low / kind(first))
            high = kind(kind(last) * back)
        else:
            scale, back = from_high, kind(high / kind(last))
            low = kind(kind(first) * back)
        held = clamp(x, low, high) if given else x
        return (turn(held * scale) * back).astype(x.dtype)


def _largest(dtype):
    return ml_dtypes.finfo(dtype).max


@op(
    "QuantizeAndDequantize",
    "input: T -> output: T",
    signed_input=True,
    num_bits=8,
    range_given=False,
    input_min=0.0,
    input_max=0.0,
    T=FLOATS,
    shape=same,
    deprecated=(22, "Replaced by QuantizeAndDequantizeV2"),
)
def quantize_and_dequantize(input, *, signed_input, num_bits, range_given, input_min, input_max):
    """Values as a few bits would hold them; kept for old graphs."""
    return _through(input, input_min, input_max, signed_input, num_bits, range_given)


@quantize_and_dequantize.gradient
def _(node, dy):
    return dy


def range_shape(input, low, high, *rest):
    for part in (low, high, *rest):
        with_rank(part, 0)
    return input.plain()


@op(
    "QuantizeAndDequantizeV2",
    "input: T, input_min: T, input_max: T -> output: T",
    signed_input=True,
    num_bits=8,
    range_given=False,
    T=FLOATS,
    round_mode=String("HALF_TO_EVEN", "HALF_UP", default="HALF_TO_EVEN"),
    narrow_range=False,
    shape=range_shape,
)
def quantize_and_dequantize_v2(
    input, input_min, input_max, *, signed_input, num_bits, range_given, round_mode, narrow_range
):
    """Values as a few bits would hold them, scaled by a given range or by their own."""
    turn = np.rint if round_mode == "HALF_TO_EVEN" else _half_up
    return _through(input, input_min, input_max, signed_input, num_bits, range_given, narrow_range, turn)


@quantize_and_dequantize_v2.gradient
def _(node, dy):
    return dy, None, None


@op(
    "QuantizeAndDequantizeV3",
    "input: T, input_min: T, input_max: T, num_bits: int32 -> output: T",
    signed_input=True,
    range_given=True,
    T=FLOATS,
    narrow_range=False,
    shape=range_shape,
)
def quantize_and_dequantize_v3(
    input, input_min, input_max, num_bits, *, signed_input, range_given, narrow_range
):
    """As QuantizeAndDequantizeV2, with the number of bits as an input."""
    require(num_bits.ndim == 0, f"num_bits must be a scalar, got shape {show(num_bits.shape)}")
    return _through(input, input_min, input_max, signed_input, int(num_bits), range_given, narrow_range)


@quantize_and_dequantize_v3.gradient
def _(node, dy):
    return dy, None, None, None


@quantize_and_dequantize.samples
def _(rng):
    yield Sample(VALUES, grad=False)
    yield Sample(VALUES, range_given=True, input_min=-1.0, input_max=3.0, num_bits=4, grad=False)


@quantize_and_dequantize_v2.samples
def _(rng):
    for signed in (True, False):
        for turn in ("HALF_TO_EVEN", "HALF_UP"):
            for given in (True, False):
                yield Sample(
                    VALUES,
                    F(-1.5),
                    F(3.0),
                    signed_input=signed,
                    num_bits=4,
                    range_given=given,
                    round_mode=turn,
                    grad=False,
                )
    yield Sample(VALUES, F(-3.0), F(1.0), range_given=True, narrow_range=True, grad=False)
    yield ErrorSample(VALUES, F(1.0), F(0.0), range_given=True, raises="Invalid range: input_min 1")


@quantize_and_dequantize_v3.samples
def _(rng):
    yield Sample(VALUES, F(-1.5), F(3.0), np.int32(5), grad=False)
    yield ErrorSample(VALUES, F(0.0), F(1.0), np.int32(0), raises="num_bits is out of range: 0")
