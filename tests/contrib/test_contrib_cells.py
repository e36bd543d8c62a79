"""tf.contrib.rnn's cells beside what TensorFlow 1.15's compute (make_golden_cells.py): names and shapes of
the variables, outputs, gradients; and the same inside of a loop."""

import pathlib

import numpy as np
import pytest

import headrace as tf
from tests.contrib.contrib_cells import BATCH, CASES, DEPTH, numbers, run

golden = np.load(pathlib.Path(__file__).parent / "golden_cells.npz")


@pytest.mark.parametrize("name", CASES)
def test_cell_is_tensorflows(name):
    names, outputs, slopes = run(tf, tf.contrib.rnn, name)
    assert names == golden[f"{name}/names"].tolist()
    for i, value in enumerate(outputs):
        np.testing.assert_allclose(value, golden[f"{name}/output{i}"], rtol=1e-4, atol=1e-5)
    assert len(slopes) == sum(key.startswith(f"{name}/slope") for key in golden)
    for i, value in enumerate(slopes):
        np.testing.assert_allclose(value, golden[f"{name}/slope{i}"], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", ["nas", "groups", "weight_norm", "attention", "highway"])
def test_a_loop_is_its_steps(name):
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.set_random_seed(4)  # a cell with ReLU may give zeros
        cell = CASES[name](tf.contrib.rnn)
        x = tf.placeholder(tf.float32, [None, None, DEPTH])
        outputs, state = tf.nn.dynamic_rnn(cell, x, [2, 4, 0], dtype=tf.float32)
        slope = tf.gradients(tf.reduce_sum(outputs), tf.trainable_variables()[0])[0]
        sess.run(tf.global_variables_initializer())
        data = numbers([BATCH, 4, DEPTH], 3)
        found, last, slope = sess.run([outputs, state, slope], {x: data})
        assert not found[2].any() and not found[0, 2:].any() and found[1].all()
        assert np.abs(slope).sum() > 0
        longer = sess.run(outputs, {x: np.concatenate([data, data], axis=1)})
        np.testing.assert_allclose(longer[:, :4], found, rtol=1e-5, atol=1e-6)


def test_a_machine_in_a_loop():
    cells = tf.contrib.rnn
    with tf.Graph().as_default(), tf.Session() as sess:
        cell = cells.NTMCell(tf.nn.rnn_cell.LSTMCell(6), 5, 4, 1, 1, output_dim=3)
        x = tf.constant(numbers([4, BATCH, DEPTH], 3))
        start = cell.zero_state(BATCH, tf.float32)
        outputs, _ = tf.nn.dynamic_rnn(cell, x, initial_state=start, time_major=True, dtype=tf.float32)
        steps, _ = tf.nn.static_rnn(cell, tf.unstack(x), initial_state=start)
        sess.run(tf.global_variables_initializer())
        looped, unrolled = sess.run([outputs, steps])
        np.testing.assert_allclose(looped, unrolled, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "make, said",
    [
        (lambda c: c.GLSTMCell(5, number_of_groups=2), "divisible"),
        (lambda c: c.GridLSTMCell(3), "num_frequency_blocks"),
        (lambda c: c.ConvLSTMCell(2, [3, 1], 2, [3, 3]), "conv_ndims"),
        (lambda c: c.AttentionCellWrapper(c.IndRNNCell(3), 0), "greater than zero"),
        (lambda c: c.AttentionCellWrapper(c.IndyLSTMCell(3), 2, state_is_tuple=False), "tuple"),
        (lambda c: _called(c.IntersectionRNNCell(3)), "num_in_proj"),
        (lambda c: _called(c.GLSTMCell(6, number_of_groups=3)), "divisible"),
        (lambda c: _called(c.CoupledInputForgetGateLSTMCell(2, num_unit_shards=9)), "shards"),
        (
            lambda c: _called(c.GridLSTMCell(3, feature_size=2, frequency_skip=1, num_frequency_blocks=[2])),
            "requires 2 but gets 3",
        ),
    ],
)
def test_bad_arguments(make, said):
    with tf.Graph().as_default(), pytest.raises(ValueError, match=said):
        make(tf.contrib.rnn)


def _called(cell):
    return cell(tf.zeros([BATCH, DEPTH]), cell.zero_state(BATCH, tf.float32))


def test_block_cells_compute_what_lstm_cells_do():
    steps = tf.constant(np.random.RandomState(0).rand(5, 3, 4), tf.float32)
    with tf.variable_scope("rnn", reuse=tf.AUTO_REUSE):
        plain, _ = tf.nn.static_rnn(tf.nn.rnn_cell.LSTMCell(6), tf.unstack(steps), dtype=tf.float32)
        block, _ = tf.nn.static_rnn(tf.contrib.rnn.LSTMBlockCell(6), tf.unstack(steps), dtype=tf.float32)
    fused, _ = tf.contrib.rnn.LSTMBlockFusedCell(6, reuse=True, name="rnn/rnn/lstm_cell")(
        steps, dtype=tf.float32
    )
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        plain, block, fused = sess.run([plain, block, fused])
    np.testing.assert_allclose(np.stack(block), np.stack(plain), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(fused, np.stack(plain), rtol=1e-5, atol=1e-7)
