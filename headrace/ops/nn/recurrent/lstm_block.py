"""LSTM cells as single ops: one step, and whole sequences.

The columns of `w` and `b` are gates: input, cell, forget, output (ICFO), or, in the second version of
the whole sequence, input, forget, cell, output (IFCO).  wci, wcf, wco are the peepholes, from the
memory to the gates; they count if `use_peephole`.  A cell_clip above 0 bounds the memory.
"""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import float16, float32
from headrace.core.errors import require
from headrace.core.shapes import make_shape
from headrace.ops.array import concat
from headrace.ops.array.slices.slice import slice_
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_rules import require_rank
from headrace.ops.declaration.signature import Bool
from headrace.ops.linalg import matrix
from headrace.ops.nn import bias
from headrace.ops.nn.recurrent import lstm_composed
from headrace.ops.nn.recurrent.lstm_composed import Options

T = (float16, float32)
ICFO, IFCO = (0, 1, 2, 3), (0, 2, 1, 3)  # places of input, cell, forget and output gate
_WEIGHTS = "w: T, wci: T, wcf: T, wco: T, b: T"
_STATES = "i: T, cs: T, f: T, o: T, ci: T, co: T, h: T"


def sigmoid(x):
    """Exact at both ends, where 1 + tanh would cancel."""
    small = np.exp(-np.abs(x))
    return np.where(x < 0, small, 1) / (1 + small)


def _wide(*arrays):
    return [a.astype(np.float32, copy=False) for a in arrays]


# -- one step -------------------------------------------------------------------------------------
def forward(x, cs_prev, h_prev, w, wci, wcf, wco, b, layout, forget_bias, cell_clip, use_peephole):
    """i, cs, f, o, ci, co, h"""
    gates = np.concatenate([x, h_prev], 1) @ w + b
    parts = np.split(gates, 4, axis=1)
    i, ci, f, o = (parts[place] for place in layout)
    f = f + forget_bias
    if use_peephole:
        i, f = i + cs_prev * wci, f + cs_prev * wcf
    i, ci, f = sigmoid(i), np.tanh(ci), sigmoid(f)
    cs = i * ci + f * cs_prev
    if cell_clip > 0:
        cs = np.clip(cs, -cell_clip, cell_clip)
    co = np.tanh(cs)
    o = sigmoid(o + cs * wco if use_peephole else o)
    return i, cs, f, o, ci, co, o * co


def backward(cs_prev, wci, wcf, wco, i, cs, f, o, ci, co, cs_grad, h_grad, layout, use_peephole):
    """The gradient of the memory before, of the gates, and of the peepholes."""
    do = o * (1 - o) * h_grad * co
    dcs = (1 - co * co) * h_grad * o + cs_grad
    if use_peephole:
        dcs = dcs + do * wco
    dci, df, di = (1 - ci * ci) * dcs * i, f * (1 - f) * dcs * cs_prev, i * (1 - i) * dcs * ci
    dgates = np.concatenate([(di, dci, df, do)[layout.index(k)] for k in range(4)], 1)
    before = dcs * f
    peepholes = [np.zeros_like(wci)] * 3
    if use_peephole:
        before = before + di * wci + df * wcf
        peepholes = [(di * cs_prev).sum(0), (df * cs_prev).sum(0), (do * cs).sum(0)]
    return before, dgates, *peepholes


def _check(batch, depth, cs_prev, h_prev, w, wci, wcf, wco, b):
    for name, array, rank in (
        ("cs_prev", cs_prev, 2),
        ("h_prev", h_prev, 2),
        ("w", w, 2),
        ("wci", wci, 1),
        ("wcf", wcf, 1),
        ("wco", wco, 1),
        ("b", b, 1),
    ):
        require(array.ndim == rank, f"{name} must be {rank}D")
    size = cs_prev.shape[1]
    for what, found, wanted, name in (
        ("cs_prev.dims(0)", len(cs_prev), batch, "batch_size"),
        ("h_prev.dims(0)", len(h_prev), batch, "batch_size"),
        ("h_prev.dims(1)", h_prev.shape[1], size, "cell_size"),
        ("w.dim_size(0)", len(w), depth + size, "input_size + cell_size"),
        ("w.dim_size(1)", w.shape[1], 4 * size, "cell_size * 4"),
        ("wci.dim_size(0)", len(wci), size, "cell_size"),
        ("wcf.dim_size(0)", len(wcf), size, "cell_size"),
        ("wco.dim_size(0)", len(wco), size, "cell_size"),
        ("b.dim_size(0)", len(b), 4 * size, "cell_size * 4"),
    ):
        require(found == wanted, f"{what} != {name}: {found} vs. {wanted}")


def cell_shape(x, cs_prev, *others):
    require_rank(x, 2)
    require_rank(cs_prev, 2)
    return [make_shape((_dim(x, 0), _dim(cs_prev, 1)))] * 7


def _dim(x, axis):
    return None if x.rank is None else x.dim(axis)


@op(
    "LSTMBlockCell",
    f"x: T, cs_prev: T, h_prev: T, {_WEIGHTS} -> {_STATES}",
    forget_bias=1.0,
    cell_clip=3.0,
    use_peephole=False,
    T=T,
    shape=cell_shape,
)
def lstm_block_cell(x, cs_prev, h_prev, w, wci, wcf, wco, b, *, forget_bias, cell_clip, use_peephole):
    """One step of an LSTM: the gates, the memory `cs` and the output `h`."""
    require(x.ndim == 2, "x must be 2D")
    _check(*x.shape, cs_prev, h_prev, w, wci, wcf, wco, b)
    arrays = _wide(x, cs_prev, h_prev, w, wci, wcf, wco, b)
    return forward(*arrays, ICFO, forget_bias, cell_clip, use_peephole)


@lstm_block_cell.lower
def _(e, *arrays, forget_bias, cell_clip, use_peephole):
    return lstm_composed.cell(e, *arrays, Options(ICFO, forget_bias, cell_clip, use_peephole))


@lstm_block_cell.gradient
def _(node, _i, cs_grad, _f, _o, _ci, _co, h_grad):
    x, cs_prev, h_prev, w, wci, wcf, wco, b = node.inputs
    i, cs, f, o, ci, co, _ = node.outputs
    before, dgates, *peepholes = lstm_block_cell_grad(
        x, cs_prev, h_prev, w, wci, wcf, wco, b, i, cs, f, o, ci, co, cs_grad, h_grad,
        use_peephole=node.attrs["use_peephole"],
    )  # fmt: skip
    depth = x.shape.dim(1) if x.shape.rank else None
    if depth is None:
        raise ValueError("input_size from `x` should not be None.")
    dxh = matrix.matmul(dgates, w, transpose_b=True)
    dx, dh = slice_(dxh, [0, 0], [-1, depth]), slice_(dxh, [0, depth], [-1, -1])
    dw = matrix.matmul(concat.concat_v2([x, h_prev], 1), dgates, transpose_a=True)
    return dx, before, dh, dw, *peepholes, bias.bias_add_grad(dgates)


def cell_grad_shape(x, cs_prev, *others):
    require_rank(x, 2)
    require_rank(cs_prev, 2)
    size = _dim(cs_prev, 1)
    gates = None if size is None else 4 * size
    rows = make_shape((_dim(x, 0), size))
    return [rows, make_shape((_dim(x, 0), gates)), *[make_shape((size,))] * 3]


@op(
    "LSTMBlockCellGrad",
    f"x: T, cs_prev: T, h_prev: T, {_WEIGHTS}, i: T, cs: T, f: T, o: T, ci: T, "
    "co: T, cs_grad: T, h_grad: T -> cs_prev_grad: T, dicfo: T, wci_grad: T, wcf_grad: T, "
    "wco_grad: T",
    use_peephole=Bool(),
    T=T,
    shape=cell_grad_shape,
)
def lstm_block_cell_grad(
    x, cs_prev, h_prev, w, wci, wcf, wco, b, i, cs, f, o, ci, co, cs_grad, h_grad, *, use_peephole
):
    """The gradient of LSTMBlockCell: of the memory before, of the gates, of the peepholes."""
    _check(*x.shape, cs_prev, h_prev, w, wci, wcf, wco, b)
    for name, array in zip(
        ("i", "cs", "f", "o", "ci", "co", "cs_grad", "h_grad"), (i, cs, f, o, ci, co, cs_grad, h_grad)
    ):
        require(
            array.shape == cs_prev.shape,
            f"{name} has the shape {list(array.shape)}, cs_prev {list(cs_prev.shape)}",
        )
    arrays = _wide(cs_prev, wci, wcf, wco, i, cs, f, o, ci, co, cs_grad, h_grad)
    return backward(*arrays, ICFO, use_peephole)


@lstm_block_cell_grad.lower
def _(e, *arrays, use_peephole):
    options = Options(ICFO, use_peephole=use_peephole)
    return lstm_composed.cell_grad(e, *arrays[:8], arrays[8:], options)


# -- a whole sequence -----------------------------------------------------------------------------
def sequence_shape(seq_len_max, x, cs_prev, h_prev, w, wci, wcf, wco, b):
    require_rank(x, 3)
    require_rank(b, 1)
    size = _dim(b, 0)
    require(size is None or size % 4 == 0, f"Dimension size must be evenly divisible by 4: {size}")
    return [make_shape((_dim(x, 0), _dim(x, 1), None if size is None else size // 4))] * 7


def _sequence(seq_len_max, x, cs_prev, h_prev, weights, layout, forget_bias, cell_clip, use_peephole):
    require(x.ndim == 3, "x must be 3D")
    steps, batch, depth = x.shape
    _check(batch, depth, cs_prev, h_prev, *weights)
    count = int(seq_len_max)
    require(0 <= count <= steps, f"seq_len_max {count} is not within the {steps} steps of x")
    outputs = [np.zeros((steps, batch, cs_prev.shape[1]), np.float32) for _ in range(7)]
    x, cs, h, *wide = _wide(x, cs_prev, h_prev, *weights)
    for t in range(count):
        found = forward(x[t], cs, h, *wide, layout, forget_bias, cell_clip, use_peephole)
        for output, value in zip(outputs, found):
            output[t] = value
        cs, h = found[1], found[6]
    return tuple(outputs)


_SEQUENCE = f"seq_len_max: int64, x: T, cs_prev: T, h_prev: T, {_WEIGHTS}"


@op(
    "BlockLSTM",
    f"{_SEQUENCE} -> {_STATES}",
    forget_bias=1.0,
    cell_clip=3.0,
    use_peephole=False,
    T=T,
    shape=sequence_shape,
)
def block_lstm(seq_len_max, x, cs_prev, h_prev, w, wci, wcf, wco, b, *, forget_bias, cell_clip, use_peephole):
    """An LSTM over the first `seq_len_max` steps of x [time, batch, size]; zeros afterwards."""
    return _sequence(
        seq_len_max, x, cs_prev, h_prev, (w, wci, wcf, wco, b), ICFO, forget_bias, cell_clip, use_peephole
    )


@op("BlockLSTMV2", f"{_SEQUENCE} -> {_STATES}", cell_clip=0.0, use_peephole=False, T=T, shape=sequence_shape)
def block_lstm_v2(seq_len_max, x, cs_prev, h_prev, w, wci, wcf, wco, b, *, cell_clip, use_peephole):
    """The same without a forget bias, with the gates in the order IFCO."""
    return _sequence(
        seq_len_max, x, cs_prev, h_prev, (w, wci, wcf, wco, b), IFCO, 0.0, cell_clip, use_peephole
    )


@block_lstm.lower
def _(e, *arrays, forget_bias, cell_clip, use_peephole):
    return lstm_composed.sequence(e, *arrays, Options(ICFO, forget_bias, cell_clip, use_peephole))


@block_lstm_v2.lower
def _(e, *arrays, cell_clip, use_peephole):
    return lstm_composed.sequence(e, *arrays, Options(IFCO, 0.0, cell_clip, use_peephole))


def _sequence_gradient(build):
    def gradient(node, _i, cs_grad, _f, _o, _ci, _co, h_grad):
        peephole = node.attrs["use_peephole"]
        found = build(*node.inputs, *node.outputs, cs_grad, h_grad, use_peephole=peephole)
        return [None, *found]

    return gradient


def sequence_grad_shape(seq_len_max, *others):
    return [x.plain() for x in others[:8]]


def _sequence_grad(
    seq_len_max,
    x,
    cs_prev,
    h_prev,
    w,
    wci,
    wcf,
    wco,
    b,
    i,
    cs,
    f,
    o,
    ci,
    co,
    h,
    cs_grad,
    h_grad,
    layout,
    use_peephole,
):
    require(x.ndim == 3, "x must be 3D")
    _check(x.shape[1], x.shape[2], cs_prev, h_prev, w, wci, wcf, wco, b)
    x, cs_prev, h_prev, w, wci, wcf, wco = _wide(x, cs_prev, h_prev, w, wci, wcf, wco)
    states = _wide(i, cs, f, o, ci, co, h, cs_grad, h_grad)
    for array in states:
        require(array.shape == (*x.shape[:2], cs_prev.shape[1]), f"a state has the shape {list(array.shape)}")
    i, cs, f, o, ci, co, h, cs_grad, h_grad = states
    depth = x.shape[2]
    dx, dw, db = np.zeros_like(x), np.zeros_like(w), np.zeros(w.shape[1], np.float32)
    dcs, dh = np.zeros_like(cs_prev), np.zeros_like(h_prev)
    peepholes = [np.zeros_like(wci) for _ in range(3)]
    for t in reversed(range(int(seq_len_max))):
        memory, output = (cs[t - 1], h[t - 1]) if t else (cs_prev, h_prev)
        dcs, dgates, *parts = backward(
            memory, wci, wcf, wco, i[t], cs[t], f[t], o[t], ci[t], co[t], dcs + cs_grad[t],
            dh + h_grad[t], layout, use_peephole,
        )  # fmt: skip
        dxh = dgates @ w.T
        dx[t], dh = dxh[:, :depth], dxh[:, depth:]
        dw += np.concatenate([x[t], output], 1).T @ dgates
        db += dgates.sum(0)
        peepholes = [a + b for a, b in zip(peepholes, parts)]
    return dx, dcs, dh, dw, *peepholes, db


_GRADIENT = (
    f"{_SEQUENCE}, {_STATES}, cs_grad: T, h_grad: T -> x_grad: T, cs_prev_grad: T, h_prev_grad: T, "
    "w_grad: T, wci_grad: T, wcf_grad: T, wco_grad: T, b_grad: T"
)


@op("BlockLSTMGrad", _GRADIENT, use_peephole=Bool(), T=T, shape=sequence_grad_shape)
def block_lstm_grad(seq_len_max, *arrays, use_peephole):
    """The gradient of BlockLSTM."""
    return _sequence_grad(seq_len_max, *arrays, ICFO, use_peephole)


@op("BlockLSTMGradV2", _GRADIENT, use_peephole=Bool(), T=T, shape=sequence_grad_shape)
def block_lstm_grad_v2(seq_len_max, *arrays, use_peephole):
    """The gradient of BlockLSTMV2."""
    return _sequence_grad(seq_len_max, *arrays, IFCO, use_peephole)


@block_lstm_grad.lower
def _(e, *arrays, use_peephole):
    options = Options(ICFO, use_peephole=use_peephole)
    return lstm_composed.sequence_grad(e, *arrays[:9], arrays[9:], options)


@block_lstm_grad_v2.lower
def _(e, *arrays, use_peephole):
    options = Options(IFCO, use_peephole=use_peephole)
    return lstm_composed.sequence_grad(e, *arrays[:9], arrays[9:], options)


block_lstm.gradient(_sequence_gradient(block_lstm_grad))
block_lstm_v2.gradient(_sequence_gradient(block_lstm_grad_v2))


# -- samples --------------------------------------------------------------------------------------
def _arrays(rng, *x_shape, size=3):
    batch, depth = x_shape[-2:]
    shapes = [
        x_shape,
        (batch, size),
        (batch, size),
        (depth + size, 4 * size),
        (size,),
        (size,),
        (size,),
        (4 * size,),
    ]
    return [rng.normal(size=s).astype(np.float32) for s in shapes]


@lstm_block_cell.samples
def _(rng):
    arrays = _arrays(rng, 2, 4)
    yield Sample(*arrays)
    yield Sample(*arrays, use_peephole=True, cell_clip=0.1)
    yield ErrorSample(*arrays[:-1], np.zeros(5, np.float32), raises="b.dim_size")


@lstm_block_cell_grad.samples
def _(rng):
    arrays = _arrays(rng, 2, 4)
    states = [rng.uniform(size=(2, 3)).astype(np.float32) for _ in range(8)]
    yield Sample(*arrays, *states, use_peephole=True)
    yield Sample(*arrays, *states, use_peephole=False)


def _sequence_samples(rng):
    arrays = _arrays(rng, 5, 2, 4)
    yield Sample(np.array(5), *arrays)
    yield Sample(np.array(3), *arrays, use_peephole=True)
    yield Sample(np.array(0), *arrays, note="no step")
    yield ErrorSample(np.array(7), *arrays, raises="not within")


def _gradient_samples(rng):
    states = [rng.uniform(size=(5, 2, 3)).astype(np.float32) for _ in range(9)]
    yield Sample(np.array(4), *_arrays(rng, 5, 2, 4), *states, use_peephole=True)
    yield Sample(np.array(5), *_arrays(rng, 5, 2, 4), *states, use_peephole=False)


for _op in (block_lstm, block_lstm_v2):
    _op.samples(_sequence_samples)
for _op in (block_lstm_grad, block_lstm_grad_v2):
    _op.samples(_gradient_samples)
