"""A GRU cell as a single op.  The columns of w_ru are the reset and the update gate."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import float32
from headrace.core.errors import require
from headrace.core.shapes import make_shape
from headrace.ops.array import concat, split
from headrace.ops.array.constant import constant
from headrace.ops.array.slices.slice import slice_
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.emit import Decline
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_rules import require_rank
from headrace.ops.declaration.signature import Type
from headrace.ops.linalg import matrix
from headrace.ops.math import arithmetic, exponential, trigonometry
from headrace.ops.nn import bias
from headrace.ops.nn.recurrent.lstm_block import sigmoid

_CELL = "x: T, h_prev: T, w_ru: T, w_c: T, b_ru: T, b_c: T"


def _check(x, h_prev, w_ru, w_c, b_ru, b_c):
    (batch, depth), size = x.shape, h_prev.shape[1]
    for what, found, wanted, name in (
        ("h_prev.dims(0)", len(h_prev), batch, "batch_size"),
        ("w_ru.dim_size(0)", len(w_ru), depth + size, "input_size + cell_size"),
        ("w_ru.dim_size(1)", w_ru.shape[1], 2 * size, "cell_size * 2"),
        ("w_c.dim_size(0)", len(w_c), depth + size, "input_size + cell_size"),
        ("w_c.dim_size(1)", w_c.shape[1], size, "cell_size"),
        ("b_ru.dim_size(0)", len(b_ru), 2 * size, "cell_size * 2"),
        ("b_c.dim_size(0)", len(b_c), size, "cell_size"),
    ):
        require(found == wanted, f"{what} != {name}: {found} vs. {wanted}")


def _rows(x, h_prev):
    require_rank(x, 2)
    require_rank(h_prev, 2)
    batch = None if x.rank is None else x.dim(0)
    return make_shape((batch, None if h_prev.rank is None else h_prev.dim(1)))


def cell_shape(x, h_prev, *weights):
    return [_rows(x, h_prev)] * 4


@op("GRUBlockCell", f"{_CELL} -> r: T, u: T, c: T, h: T", T=Type((float32,)), shape=cell_shape)
def gru_block_cell(x, h_prev, w_ru, w_c, b_ru, b_c):
    """One step of a GRU: reset gate, update gate, candidate, and the new state."""
    _check(x, h_prev, w_ru, w_c, b_ru, b_c)
    gates = sigmoid(np.concatenate([x, h_prev], 1) @ w_ru + b_ru)
    r, u = np.split(gates, 2, axis=1)
    c = np.tanh(np.concatenate([x, h_prev * r], 1) @ w_c + b_c)
    return r, u, c, u * (h_prev - c) + c


def _fits(x, h_prev, w_ru, w_c, b_ru, b_c, *states):
    """Decline what the reference refuses."""
    (batch, depth), size = x.shape, h_prev.shape[1]
    wanted = [(batch, size), (depth + size, 2 * size), (depth + size, size), (2 * size,), (size,)]
    wanted += [(batch, size)] * len(states)
    if [t.shape for t in (h_prev, w_ru, w_c, b_ru, b_c, *states)] != wanted:
        raise Decline("shapes that do not fit")


@gru_block_cell.lower
def _(e, *arrays):
    def rule(build, x, h_prev, w_ru, w_c, b_ru, b_c):
        gates = matrix.matmul(concat.concat_v2([x, h_prev], 1), w_ru) + b_ru
        r, u = split.split(constant(1), exponential.sigmoid(gates), num_split=2)
        c = trigonometry.tanh(matrix.matmul(concat.concat_v2([x, h_prev * r], 1), w_c) + b_c)
        return r, u, c, u * (h_prev - c) + c

    _fits(*arrays)
    return e.composed(rule, *arrays)


@gru_block_cell.gradient
def _(node, _r, _u, _c, d_h):
    x, h_prev, w_ru, w_c, b_ru, b_c = node.inputs
    r, u, c, _ = node.outputs
    d_x, d_h_prev, d_c_bar, d_r_bar_u_bar = gru_block_cell_grad(x, h_prev, w_ru, w_c, b_ru, b_c, r, u, c, d_h)
    seen = concat.concat_v2([x, h_prev], 1)
    remembered = concat.concat_v2([x, arithmetic.mul(h_prev, r)], 1)
    d_w_ru = matrix.matmul(seen, d_r_bar_u_bar, transpose_a=True)
    d_w_c = matrix.matmul(remembered, d_c_bar, transpose_a=True)
    d_b_ru, d_b_c = bias.bias_add_grad(d_r_bar_u_bar), bias.bias_add_grad(d_c_bar)
    return d_x, d_h_prev, d_w_ru, d_w_c, d_b_ru, d_b_c


def grad_shape(x, h_prev, w_ru, *others):
    require_rank(w_ru, 2)
    rows = _rows(x, h_prev)
    gates = None if w_ru.rank is None else w_ru.dim(1)
    return [x.plain(), rows, rows, make_shape((rows.dim(0), gates))]


@op(
    "GRUBlockCellGrad",
    f"{_CELL}, r: T, u: T, c: T, d_h: T -> d_x: T, d_h_prev: T, d_c_bar: T, d_r_bar_u_bar: T",
    T=Type((float32,)),
    shape=grad_shape,
)
def gru_block_cell_grad(x, h_prev, w_ru, w_c, b_ru, b_c, r, u, c, d_h):
    """The gradient of GRUBlockCell: of input and state, and of what goes into the gates."""
    _check(x, h_prev, w_ru, w_c, b_ru, b_c)
    for name, array in (("r", r), ("u", u), ("c", c), ("d_h", d_h)):
        require(
            array.shape == h_prev.shape,
            f"{name} has the shape {list(array.shape)}, h_prev {list(h_prev.shape)}",
        )
    depth = x.shape[1]
    d_c_bar = d_h * (1 - u) * (1 - c * c)
    d_u_bar = d_h * (h_prev - c) * u * (1 - u)
    second = d_c_bar @ w_c.T
    d_remembered = second[:, depth:]
    d_r_bar = d_remembered * h_prev * r * (1 - r)
    d_gates = np.concatenate([d_r_bar, d_u_bar], 1)
    first = d_gates @ w_ru.T
    d_h_prev = first[:, depth:] + d_remembered * r + d_h * u
    return first[:, :depth] + second[:, :depth], d_h_prev, d_c_bar, d_gates


@gru_block_cell_grad.lower
def _(e, *arrays):
    def rule(build, x, h_prev, w_ru, w_c, b_ru, b_c, r, u, c, d_h):
        depth = x.shape.dim(1)

        def parts(y):
            return slice_(y, [0, 0], [-1, depth]), slice_(y, [0, depth], [-1, -1])

        d_c_bar = d_h * (1 - u) * (1 - c * c)
        d_u_bar = d_h * (h_prev - c) * u * (1 - u)
        d_x, d_remembered = parts(matrix.matmul(d_c_bar, w_c, transpose_b=True))
        d_r_bar = d_remembered * h_prev * r * (1 - r)
        d_gates = concat.concat_v2([d_r_bar, d_u_bar], 1)
        more, d_seen = parts(matrix.matmul(d_gates, w_ru, transpose_b=True))
        return d_x + more, d_seen + d_remembered * r + d_h * u, d_c_bar, d_gates

    _fits(*arrays)
    return e.composed(rule, *arrays)


def _arrays(rng):
    shapes = [(2, 4), (2, 3), (7, 6), (7, 3), (6,), (3,)]
    return [rng.normal(size=s).astype(np.float32) for s in shapes]


@gru_block_cell.samples
def _(rng):
    arrays = _arrays(rng)
    yield Sample(*arrays)
    yield ErrorSample(*arrays[:-1], np.zeros(5, np.float32), raises="b_c.dim_size")


@gru_block_cell_grad.samples
def _(rng):
    states = [rng.uniform(size=(2, 3)).astype(np.float32) for _ in range(4)]
    yield Sample(*_arrays(rng), *states)
