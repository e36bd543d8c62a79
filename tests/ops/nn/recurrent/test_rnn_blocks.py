"""Cells as single ops against cells of many ops; gradients by finite differences."""

import numpy as np
import pytest

import headrace as tf

pytestmark = pytest.mark.pure


@pytest.fixture(autouse=True)
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def arrays(*shapes):
    rng = np.random.default_rng(1)
    return [tf.constant(rng.normal(size=s) * 0.5, tf.float32) for s in shapes]


def differences(session, y, xs, step=1e-2):
    """Analytic against numeric derivatives along one random direction for each x."""
    rng = np.random.default_rng(2)
    grads, values = session.run([tf.gradients(y, xs), xs])
    for x, grad, value in zip(xs, grads, values):
        direction = rng.normal(size=value.shape).astype(np.float32)
        high = session.run(y, {x: value + step * direction})
        low = session.run(y, {x: value - step * direction})
        numeric = (float(high) - float(low)) / (2 * step)
        np.testing.assert_allclose(np.sum(grad * direction), numeric, rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("peephole", [False, True])
@pytest.mark.parametrize("name", ["BlockLSTM", "BlockLSTMV2"])
def test_gradient_of_a_sequence(session, name, peephole):
    x, cs, h, w, wci, wcf, wco, b = xs = arrays((4, 2, 3), (2, 3), (2, 3), (6, 12), (3,), (3,), (3,), (12,))
    out = getattr(tf.raw_ops, name)(
        seq_len_max=np.int64(3), x=x, cs_prev=cs, h_prev=h, w=w, wci=wci, wcf=wcf, wco=wco, b=b,
        cell_clip=0.0, use_peephole=peephole,
    )  # fmt: skip
    used = xs if peephole else [x, cs, h, w, b]
    differences(session, tf.reduce_sum(out.h * out.h) + tf.reduce_sum(out.cs), used)


@pytest.mark.parametrize("peephole", [False, True])
def test_an_lstm_step_is_lstm_cells(session, peephole):
    x, c, h = arrays((2, 3), (2, 4), (2, 4))
    cell = tf.nn.rnn_cell.LSTMCell(4, use_peepholes=peephole, forget_bias=0.5)
    output, state = cell(x, tf.nn.rnn_cell.LSTMStateTuple(c, h))
    session.run(tf.global_variables_initializer())
    zero = tf.zeros([4])
    wf, wi, wo = cell.variables[2:5] if peephole else (zero, zero, zero)
    found = tf.raw_ops.LSTMBlockCell(
        x=x, cs_prev=c, h_prev=h, w=cell.variables[0], wci=wi, wcf=wf, wco=wo,
        b=cell.variables[1], forget_bias=0.5, cell_clip=0.0, use_peephole=peephole,
    )  # fmt: skip
    want, memory, got, got_memory = session.run([output, state.c, found.h, found.cs])
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(got_memory, memory, rtol=1e-5)
    want = session.run(tf.gradients(output, [x, c, h, cell.variables[0]]))
    got = session.run(tf.gradients(found.h, [x, c, h, cell.variables[0]]))
    for a, b in zip(got, want):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_a_gru_step_is_gru_cells(session):
    x, h = arrays((2, 3), (2, 4))
    cell = tf.nn.rnn_cell.GRUCell(4)
    output, _ = cell(x, h)
    session.run(tf.global_variables_initializer())
    w_ru, b_ru, w_c, b_c = cell.variables
    found = tf.raw_ops.GRUBlockCell(x=x, h_prev=h, w_ru=w_ru, w_c=w_c, b_ru=b_ru, b_c=b_c).h
    np.testing.assert_allclose(*session.run([found, output]), rtol=1e-5)
    xs = [x, h, w_ru, b_ru, w_c, b_c]
    for a, b in zip(*session.run([tf.gradients(found, xs), tf.gradients(output, xs)])):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_what_comes_after_the_end_is_zero(session):
    x, cs, h, w, wci, b = arrays((4, 2, 3), (2, 3), (2, 3), (6, 12), (3,), (12,))
    out = tf.raw_ops.BlockLSTM(
        seq_len_max=np.int64(2), x=x, cs_prev=cs, h_prev=h, w=w, wci=wci, wcf=wci, wco=wci, b=b
    )
    values, grad = session.run([out.h, tf.gradients(out.h, x)[0]])
    assert values[:2].all() and not values[2:].any()
    assert grad[:2].all() and not grad[2:].any()
