"""Arithmetic of quantized numbers: sums, products, matrix products, relu, concat, reshape.

Each number comes with the range that its integers cover; a result brings its own.
"""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import QUANTIZED, qint32, quint8
from headrace.core.errors import InvalidArgumentError, require
from headrace.core.shapes import SCALAR, make_shape, show
from headrace.ops.array import concat, reshape
from headrace.ops.declaration.declare import Op, op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import merge_sizes, with_rank, with_rank_at_least
from headrace.ops.declaration.shape_rules import broadcast
from headrace.ops.declaration.signature import INDEX32, Int, Type
from headrace.ops.quantized.quantize import (
    F,
    bounds,
    from_float,
    from_float32,
    one_level,
    quantized,
    scalar,
    to_float,
    to_float32,
    with_range,
)

RANGES = "min_x: float32, max_x: float32, min_y: float32, max_y: float32"
OUT = "-> z: Toutput, min_z: float32, max_z: float32"


def zero_of(dtype, low, high):
    """The integer that stands for zero, even if it lies outside of the type."""
    lowest = bounds(dtype)[0]
    steps = 2.0 ** (8 * dtype.numpy.itemsize)
    scale = steps / (float(F(high) - F(low)) * (steps / (steps - 1.0)))
    value = float(low) * scale
    return int(lowest - np.floor(abs(value) + 0.5) * np.sign(value))


def product_range(first, low_a, high_a, second, low_b, high_b, target):
    """The range of products whose integers are the products of the integers."""
    level = one_level(first, low_a, high_a) * one_level(second, low_b, high_b)
    lowest, highest = bounds(target)
    return F(level * F(lowest)), F(level * F(highest))


def _check_ranges(low_x, high_x, low_y, high_y, names="xy"):
    for low, high, name in ((low_x, high_x, names[0]), (low_y, high_y, names[1])):
        require(high > low, f"max_{name} must be larger than min_{name}.")


def _check_broadcast(x, y):
    try:
        np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        raise InvalidArgumentError(
            None, None, f"Incompatible shapes: {show(x.shape)} vs. {show(y.shape)}"
        ) from None


def pair_shape(x, y, *ranges):
    for part in ranges:
        with_rank(part, 0)
    return [broadcast(x, y), SCALAR, SCALAR]


ANY = {"T1": QUANTIZED, "T2": QUANTIZED, "Toutput": Type(QUANTIZED, default=qint32)}
LEFT = quantized([0, 100, 128, 255], quint8), quantized([7, 0, 255, 30], quint8)
LIMITS = F(-2.0), F(4.0), F(-1.0), F(8.0)


# -- sums ---------------------------------------------------------------------------------------
@op("QuantizedAdd", f"x: T1, y: T2, {RANGES} {OUT}", attrs=ANY, shape=pair_shape)
def quantized_add(x, y, min_x, max_x, min_y, max_y, *, T1, T2, Toutput):
    """The sum, in a range with room for it."""
    ranges = [scalar(r, "range") for r in (min_x, max_x, min_y, max_y)]
    low_x, high_x, low_y, high_y = ranges
    _check_broadcast(x, y)
    _check_ranges(*ranges)
    biggest = max(abs(min(low_x, low_y)), abs(max(high_x, high_y)))
    high = F(biggest * F(1 << 14))
    left = _widened(x, T1, low_x, high_x, Toutput, high, x.size == 1)
    right = _widened(y, T2, low_y, high_y, Toutput, high, y.size == 1 != x.size)
    return left + right, -high, high


def _widened(x, dtype, low, high, target, top, exact):
    """`x` in the range from -top to top; 8 bits as multiples of one step, unless `exact`."""
    if exact or (dtype, target) != (quint8, qint32):
        return from_float(to_float(x, dtype, low, high), target, -top, top)
    codes = to_float(np.array([0, 1]), dtype, low, high)
    first, second = from_float(codes, target, -top, top).astype(np.int64)
    return np.clip(first + x.astype(np.int64) * (second - first), *bounds(target)).astype(np.int32)


@quantized_add.samples
def _(rng):
    yield Sample(*LEFT, *LIMITS)
    yield Sample(LEFT[0].reshape(4, 1), LEFT[1][:1], *LIMITS, note="broadcast")
    yield ErrorSample(*LEFT, F(4.0), F(4.0), F(0.0), F(1.0), raises="max_x must be larger")


@op(
    "QuantizedBiasAdd",
    "input: T1, bias: T2, min_input: float32, max_input: float32, "
    "min_bias: float32, max_bias: float32 -> output: out_type, min_out: float32, "
    "max_out: float32",
    T1=QUANTIZED,
    T2=QUANTIZED,
    out_type=QUANTIZED,
    shape=lambda input, bias, *ranges: bias_shape(input, bias, *ranges),
)
def quantized_bias_add(input, bias, min_input, max_input, min_bias, max_bias, *, T1, T2, out_type):
    """The sum with a vector along the last dimension."""
    require(input.ndim >= 2, f"Input tensor must be at least 2D: {show(input.shape)}")
    require(bias.ndim == 1, f"Biases must be 1D: {show(bias.shape)}")
    require(
        bias.shape[0] == input.shape[-1],
        "Must provide as many biases as the last dimension of the input tensor: "
        f"{show(bias.shape)} vs. {show(input.shape)}",
    )
    ranges = [scalar(r, "range") for r in (min_input, max_input, min_bias, max_bias)]
    low, high, low_bias, high_bias = ranges
    top = F(max(high, -low, high_bias, -low_bias) * F(1 << 17))
    zero = from_float(F(0), out_type, -top, top)
    whole = from_float32(to_float32(input, T1, low, high), out_type, -top, top)
    added = from_float32(to_float32(bias, T2, low_bias, high_bias), out_type, -top, top)
    return whole + (added + zero), -top, top


def bias_shape(input, bias, *ranges):
    shape, vector = with_rank_at_least(input, 2), with_rank(bias, 1)
    for part in ranges:
        with_rank(part, 0)
    if shape.rank is not None:
        merge_sizes(shape.sizes[-1], vector.sizes[0])
    return [shape, SCALAR, SCALAR]


@quantized_bias_add.samples
def _(rng):
    yield Sample(LEFT[0].reshape(2, 2), LEFT[1][:2], *LIMITS, out_type=qint32)


# -- products -----------------------------------------------------------------------------------
@op("QuantizedMul", f"x: T1, y: T2, {RANGES} {OUT}", attrs=ANY, shape=pair_shape)
def quantized_mul(x, y, min_x, max_x, min_y, max_y, *, T1, T2, Toutput):
    """The product."""
    ranges = [scalar(r, "range") for r in (min_x, max_x, min_y, max_y)]
    low_x, high_x, low_y, high_y = ranges
    _check_broadcast(x, y)
    _check_ranges(*ranges)
    left = x.astype(np.int64) - zero_of(T1, low_x, high_x)
    right = y.astype(np.int64) - zero_of(T2, low_y, high_y)
    low, high = product_range(T1, low_x, high_x, T2, low_y, high_y, Toutput)
    return np.clip(left * right, *bounds(Toutput)).astype(Toutput.numpy), low, high


@quantized_mul.samples
def _(rng):
    yield Sample(*LEFT, *LIMITS)
    yield Sample(LEFT[0].reshape(4, 1), LEFT[1][:1], *LIMITS, note="broadcast")


def product_shape(a, b, *ranges, transpose_a, transpose_b):
    for part in ranges:
        with_rank(part, 0)
    left = with_rank(a, 2).sizes[:: -1 if transpose_a else 1]
    right = with_rank(b, 2).sizes[:: -1 if transpose_b else 1]
    merge_sizes(left[1], right[0])
    return [make_shape((left[0], right[1])), SCALAR, SCALAR]


@op(
    "QuantizedMatMul",
    "a: T1, b: T2, min_a: float32, max_a: float32, min_b: float32, "
    "max_b: float32 -> out: Toutput, min_out: float32, max_out: float32",
    T1=QUANTIZED,
    T2=QUANTIZED,
    Toutput=Type(QUANTIZED, default=qint32),
    transpose_a=False,
    transpose_b=False,
    Tactivation=Type(QUANTIZED, default=quint8),
    shape=product_shape,
)
def quantized_mat_mul(a, b, min_a, max_a, min_b, max_b, *, T1, T2, Toutput, transpose_a, transpose_b):
    """The matrix product."""
    ranges = [scalar(r, "range") for r in (min_a, max_a, min_b, max_b)]
    low_a, high_a, low_b, high_b = ranges
    _check_ranges(*ranges, names="ab")
    require(a.ndim == 2, "In[0] is not a matrix")
    require(b.ndim == 2, "In[1] is not a matrix")
    left, right = a.T if transpose_a else a, b.T if transpose_b else b
    require(
        left.shape[1] == right.shape[0],
        f"Matrix size-incompatible: In[0]: {show(a.shape)}, In[1]: {show(b.shape)}",
    )
    # Products of small integers add up exactly in float64, which has a fast product.
    kind = np.float64 if max(a.itemsize, b.itemsize) < 4 else np.int64
    total = (left.astype(kind) - zero_of(T1, low_a, high_a)) @ (
        right.astype(kind) - zero_of(T2, low_b, high_b)
    )
    low, high = product_range(T1, low_a, high_a, T2, low_b, high_b, Toutput)
    return np.clip(total, *bounds(Toutput)).astype(Toutput.numpy), low, high


@quantized_mat_mul.samples
def _(rng):
    a, b = LEFT[0].reshape(2, 2), quantized([[1, 2, 3], [200, 5, 255]], quint8)
    for transpose_a in (False, True):
        yield Sample(a, b, *LIMITS, transpose_a=transpose_a)
    yield Sample(a, np.ascontiguousarray(b.T), *LIMITS, transpose_b=True)
    yield ErrorSample(a, b.reshape(3, 2), *LIMITS, raises="must be equal|size-incompatible")


# -- relu ---------------------------------------------------------------------------------------
def clipped(name, top, extra="") -> Op:
    """max(0, x), and no more than `top` if there is one."""

    def reference(features, *rest, Tinput, out_type):
        limits = [scalar(r, "range") for r in rest]
        low, high = limits[-2:]
        floor = from_float(F(0), Tinput, low, high)
        out = np.maximum(features, floor)
        ceiling = limits[0] if extra else top
        if ceiling is not None:
            out = np.minimum(out, from_float(F(ceiling), Tinput, low, high))
        return out.astype(out_type.numpy), low, high

    def samples(rng):
        given = (F(2.5),) if extra else ()
        yield Sample(LEFT[0], *given, F(-3.0), F(9.0))
        yield Sample(quantized([-(2**31), 0, 10**9], qint32), *given, F(-3.0), F(9.0), out_type=qint32)

    reference.__doc__ = f"{name[9:]} of quantized numbers: the range stays."
    declared = op(
        name,
        f"features: Tinput, {extra}min_features: float32, max_features: float32 "
        "-> activations: out_type, min_activations: float32, max_activations: float32",
        Tinput=QUANTIZED,
        out_type=Type(QUANTIZED, default=quint8),
        shape=with_range,
    )(reference)
    declared.samples(samples)
    return declared


quantized_relu = clipped("QuantizedRelu", None)
quantized_relu6 = clipped("QuantizedRelu6", 6.0)
quantized_relu_x = clipped("QuantizedReluX", None, "max_value: float32, ")


# -- concat and reshape -------------------------------------------------------------------------
def concat_shape(concat_dim, values, input_mins, input_maxes):
    for part in (*input_mins, *input_maxes):
        with_rank(part, 0)
    return [concat.concat.shape_rule(concat_dim, values), SCALAR, SCALAR]


@op(
    "QuantizedConcat",
    "concat_dim: int32, values: N*T, input_mins: N*float32, "
    "input_maxes: N*float32 -> output: T, output_min: float32, output_max: float32",
    N=Int(min=2),
    T=Type(),
    shape=concat_shape,
)
def quantized_concat(concat_dim, values, input_mins, input_maxes, *, T):
    """Quantized tensors, one after the other, in the range of all of them."""
    rank = values[0].ndim
    require(
        0 <= int(concat_dim) < rank,
        f"Expected concatenating dimensions in the range [0, {rank}), but got {int(concat_dim)}",
    )
    lows = [scalar(r, "input_mins") for r in input_mins]
    highs = [scalar(r, "input_maxes") for r in input_maxes]
    low, high = min(F(0), *lows), max(highs)
    if bounds(T)[0] < 0:
        high = max(abs(low), abs(high))
        low = -high
    moved = [
        x if (a, b) == (low, high) else from_float32(to_float32(x, T, a, b), T, low, high)
        for x, a, b in zip(values, lows, highs)
    ]
    return concat.concat.reference(concat_dim, moved), low, high


@quantized_concat.samples
def _(rng):
    yield Sample(np.int32(0), list(LEFT), [F(-2.0), F(0.0)], [F(4.0), F(8.0)])
    yield Sample(np.int32(0), [LEFT[0]] * 2, [F(-1.0)] * 2, [F(1.0)] * 2, note="one range")
    both = [F(-1.0)] * 2, [F(1.0)] * 2
    yield ErrorSample(np.int32(-1), [LEFT[0]] * 2, *both, raises="concatenating dimensions in the range")


def reshape_shape(tensor, shape, *ranges):
    for part in ranges:
        with_rank(part, 0)
    return [reshape.reshape.shape_rule(tensor, shape), SCALAR, SCALAR]


@op(
    "QuantizedReshape",
    "tensor: T, shape: Tshape, input_min: float32, input_max: float32 -> "
    "output: T, output_min: float32, output_max: float32",
    shape=reshape_shape,
    attrs={"T": Type(), "Tshape": INDEX32},
)
def quantized_reshape(tensor, shape, input_min, input_max):
    """The same numbers in another shape; the range goes with them."""
    return reshape.reshape.reference(tensor, shape), *(x.reshape(()) for x in (input_min, input_max))


@quantized_reshape.samples
def _(rng):
    yield Sample(LEFT[0], np.array([2, -1], np.int32), F(-1.0), F(2.0))
