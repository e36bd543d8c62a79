"""LSTM cells, and LSTMs over sequences, as graphs of other ops: how those of `lstm_block` compile.

Of a sequence only what needs the step before is inside of the loop: products of all inputs with their
weights, and the gradients of weights, are single products before and after it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headrace.core.dtypes import float32
from headrace.ops.array import concat, fill, reshape, split
from headrace.ops.array.constant import constant
from headrace.ops.array.indexing import where
from headrace.ops.array.slices.slice import slice_
from headrace.ops.declaration.emit import Decline
from headrace.ops.linalg import matrix
from headrace.ops.math import arithmetic, comparison, exponential, reduce, trigonometry
from headrace.ops.math.cast import cast


@dataclass(frozen=True)
class Options:
    layout: tuple[int, ...]  # places of input, cell, forget and output gate
    forget_bias: float = 0.0
    cell_clip: float = 0.0
    use_peephole: bool = False


def lower(e, rule, operands):
    """Compose in float32, as the reference computes; the results have the type of the operands."""
    dtype = operands[-1].dtype

    def wide(build, *tensors):
        floats = [cast(t, DstT=float32) if t.dtype is dtype else t for t in tensors]
        return [cast(t, DstT=dtype) for t in rule(build, *floats)]

    return e.composed(wide if dtype is not float32 else rule, *operands)


def check(x, cs_prev, h_prev, w, wci, wcf, wco, b, *states):
    """Decline what the reference refuses."""
    batch, depth = x.shape[-2:]
    if len(cs_prev.shape) != 2:
        raise Decline("cs_prev must be 2D")
    size = cs_prev.shape[1]
    wanted = [(batch, size), (batch, size), (depth + size, 4 * size), *[(size,)] * 3, (4 * size,)]
    wanted += [(*x.shape[:-1], size)] * len(states)
    found = [t.shape for t in (cs_prev, h_prev, w, wci, wcf, wco, b, *states)]
    if found != wanted:
        raise Decline("shapes that do not fit")


def forward(gates, cs_prev, peepholes, options):
    """i, cs, f, o, ci, co, h of one step."""
    parts = split.split(constant(1), gates, num_split=4)
    i, ci, f, o = (parts[place] for place in options.layout)
    wci, wcf, wco = peepholes
    f = f + options.forget_bias
    if options.use_peephole:
        i, f = i + cs_prev * wci, f + cs_prev * wcf
    i, ci, f = exponential.sigmoid(i), trigonometry.tanh(ci), exponential.sigmoid(f)
    cs = i * ci + f * cs_prev
    if options.cell_clip > 0:
        cs = arithmetic.maximum(arithmetic.minimum(cs, options.cell_clip), -options.cell_clip)
    co = trigonometry.tanh(cs)
    o = exponential.sigmoid(o + cs * wco if options.use_peephole else o)
    return i, cs, f, o, ci, co, o * co


def backward(cs_prev, peepholes, states, cs_grad, h_grad, options):
    """The gradients of the memory before, and of the gates."""
    i, _, f, o, ci, co = states
    wci, wcf, wco = peepholes
    do = o * (1 - o) * h_grad * co
    dcs = (1 - co * co) * h_grad * o + cs_grad
    if options.use_peephole:
        dcs = dcs + do * wco
    dci, df, di = (1 - ci * ci) * dcs * i, f * (1 - f) * dcs * cs_prev, i * (1 - i) * dcs * ci
    gates = [(di, dci, df, do)[options.layout.index(k)] for k in range(4)]
    before = dcs * f
    if options.use_peephole:
        before = before + di * wci + df * wcf
    return before, concat.concat_v2(gates, 1)


def peephole_grads(gates, cs_prev, cs, peepholes, options):
    """All steps and members of the batch together."""
    if not options.use_peephole:
        return [fill.zeros_like(w) for w in peepholes]
    parts = split.split(constant(1), gates, num_split=4)
    di, _, df, do = (parts[place] for place in options.layout)
    return [reduce.sum_(a * b, [0]) for a, b in ((di, cs_prev), (df, cs_prev), (do, cs))]


# -- one step -------------------------------------------------------------------------------------
def cell(e, x, cs_prev, h_prev, w, wci, wcf, wco, b, options):
    check(x, cs_prev, h_prev, w, wci, wcf, wco, b)

    def rule(build, x, cs_prev, h_prev, w, wci, wcf, wco, b):
        gates = matrix.matmul(concat.concat_v2([x, h_prev], 1), w) + b
        return forward(gates, cs_prev, (wci, wcf, wco), options)

    return lower(e, rule, (x, cs_prev, h_prev, w, wci, wcf, wco, b))


def cell_grad(e, x, cs_prev, h_prev, w, wci, wcf, wco, b, states, options):
    check(x, cs_prev, h_prev, w, wci, wcf, wco, b, *states)

    def rule(build, cs_prev, wci, wcf, wco, *given):
        *states, cs_grad, h_grad = given
        peepholes = wci, wcf, wco
        before, gates = backward(cs_prev, peepholes, states, cs_grad, h_grad, options)
        return before, gates, *peephole_grads(gates, cs_prev, states[1], peepholes, options)

    return lower(e, rule, (cs_prev, wci, wcf, wco, *states))


# -- a whole sequence -----------------------------------------------------------------------------
def _flat(x):
    """[time, batch, n] as [time * batch, n]."""
    return reshape.reshape(x, [-1, x.shape.dim(2)])


def _weights(w, depth):
    """For the input, for the output of the step before."""
    return slice_(w, [0, 0], [depth, -1]), slice_(w, [depth, 0], [-1, -1])


def _before(first, rows):
    """What every step finds: `first`, then what the others left."""
    steps = rows.shape.dim(0)
    earlier = slice_(rows, [0, 0, 0], [steps - 1, -1, -1])
    return concat.concat_v2([reshape.expand_dims(first, 0), earlier], 0)


def _below(count, rows):
    """The first `count` rows, zeros after them: what is not seen must not count, not even times 0."""
    steps = constant(np.arange(rows.shape.dim(0), dtype=np.int64).reshape(-1, 1, 1))
    return where.select_v2(comparison.less(steps, count), rows, fill.zeros_like(rows))


def sequence(e, seq_len_max, x, cs_prev, h_prev, w, wci, wcf, wco, b, options):
    check(x, cs_prev, h_prev, w, wci, wcf, wco, b)

    def rule(build, count, x, cs_prev, h_prev, w, wci, wcf, wco, b):
        for_input, for_output = _weights(w, x.shape.dim(2))
        given = matrix.matmul(_flat(x), for_input) + b
        given = reshape.reshape(given, [*x.shape.as_list()[:2], w.shape.dim(1)])

        def step(carried, rows):
            cs, h = carried
            gates = rows[0] + matrix.matmul(h, for_output)
            found = forward(gates, cs, (wci, wcf, wco), options)
            return [found[1], found[6]], found

        return build.scan(step, [cs_prev, h_prev], [given], count)[1]

    return lower(e, rule, (seq_len_max, x, cs_prev, h_prev, w, wci, wcf, wco, b))


def sequence_grad(e, seq_len_max, x, cs_prev, h_prev, w, wci, wcf, wco, b, states, options):
    check(x, cs_prev, h_prev, w, wci, wcf, wco, b, *states)

    def rule(build, count, x, cs_prev, h_prev, w, wci, wcf, wco, i, cs, f, o, ci, co, h, *grads):
        for_input, for_output = _weights(w, x.shape.dim(2))
        peepholes, memories = (wci, wcf, wco), _before(cs_prev, cs)

        def step(carried, rows):
            memory, cs_grad, h_grad, *states = rows
            before, gates = backward(
                memory, peepholes, states, carried[0] + cs_grad, carried[1] + h_grad, options
            )
            return [before, matrix.matmul(gates, for_output, transpose_b=True)], [gates]

        rows = [memories, *grads, i, cs, f, o, ci, co]
        nothing = fill.zeros_like(cs_prev)
        (dcs, dh), (gates,) = build.scan(step, [nothing] * 2, rows, count, backwards=True)
        gates = _flat(gates)
        dx = reshape.reshape(matrix.matmul(gates, for_input, transpose_b=True), x.shape.as_list())
        dx = _below(count, dx)
        seen = [_flat(_below(count, rows)) for rows in (x, _before(h_prev, h))]
        dw = [matrix.matmul(rows, gates, transpose_a=True) for rows in seen]
        seen = [_flat(_below(count, rows)) for rows in (memories, cs)]
        rest = peephole_grads(gates, *seen, peepholes, options)
        return dx, dcs, dh, concat.concat_v2(dw, 0), *rest, reduce.sum_(gates, [0])

    return lower(e, rule, (seq_len_max, x, cs_prev, h_prev, w, wci, wcf, wco, *states))
