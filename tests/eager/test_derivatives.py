"""Functions of derivatives, Jacobians, and what is Python's own in eager mode; variables of functions and
stores."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf

tfe = tf.contrib.eager


def test_derivatives_by_arguments_and_by_variables():
    def f(x, y):
        return x * x * y

    assert [g.numpy() for g in tfe.gradients_function(f)(3.0, 2.0)] == [12.0, 9.0]
    assert [g.numpy() for g in tfe.gradients_function(f, params=["y"])(3.0, 2.0)] == [9.0]
    value, (by_x,) = tfe.value_and_gradients_function(f, params=[0])(3.0, 2.0)
    assert (value.numpy(), by_x.numpy()) == (18.0, 12.0)
    second = tfe.gradients_function(lambda x: tfe.gradients_function(lambda z: z**3)(x)[0])
    assert second(2.0)[0].numpy() == 12.0
    v, w = tfe.Variable(2.0), tfe.Variable(5.0)
    found = tfe.implicit_gradients(lambda: w * v * v)()
    assert [(g.numpy(), x is y) for (g, x), y in zip(found, (v, w))] == [(20.0, True), (4.0, True)]
    with pytest.raises(ValueError, match="No trainable variables"):
        tfe.implicit_gradients(lambda: tf.constant(1.0))()
    with pytest.raises(ValueError, match="returns None"):
        tfe.gradients_function(lambda x: None)(1.0)


def test_jacobians():
    numbers = np.random.RandomState(0)
    a, x = numbers.randn(3, 2).astype(np.float32), tf.constant(numbers.randn(2, 4).astype(np.float32))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.matmul(a, x)
        rows = tf.square(x) * x[:, ::-1]
    found = tape.jacobian(y, x).numpy()
    expected = np.einsum("ik,jl->ijkl", a, np.eye(4))
    np.testing.assert_allclose(found, expected, atol=1e-6)
    whole = tape.jacobian(rows, x).numpy()
    np.testing.assert_allclose(
        tape.batch_jacobian(rows, x).numpy(), [whole[i, :, i] for i in range(2)], atol=1e-6
    )
    with pytest.raises(ValueError, match="to match"):
        tape.batch_jacobian(y, x)


def test_conditionals_and_loops_are_pythons():
    assert tf.cond(tf.constant(True), lambda: 1, lambda: 2) == 1
    total = tf.while_loop(lambda i, s: i < 5, lambda i, s: [i + 1, s + i], [tf.constant(0), tf.constant(0)])
    assert [t.numpy() for t in total] == [5, 10]
    assert (
        tf.while_loop(lambda i: i < 9, lambda i: i + 1, [tf.constant(0)], maximum_iterations=3).numpy() == 3
    )
    assert tf.group(total[0]) is None and tf.global_variables_initializer() is None


def test_custom_gradients_see_variables():
    v = tfe.Variable(3.0)

    @tf.custom_gradient
    def scaled(x):
        def grad(dy, variables=None):
            assert variables == [v]
            return 10.0 * dy, [100.0 * dy]

        return x * v, grad

    with tf.GradientTape() as tape:
        x = tf.constant(2.0)
        tape.watch(x)
        y = scaled(x)
    assert [g.numpy() for g in tape.gradient(y, [x, v])] == [10.0, 100.0]


def test_variables_of_a_function_are_made_once():
    kept = []

    @tf.function
    def once(x):
        if not kept:
            kept.append(tf.Variable(2.0))
        return kept[0] * x

    assert once(tf.constant(3.0)).numpy() == 6.0 and once(tf.constant(4.0)).numpy() == 8.0
    assert len(kept) == 1

    @tf.function
    def always(x):
        return tf.Variable(1.0) + x

    with pytest.raises(ValueError, match="create variables on non-first call"):
        always(tf.constant(1.0))


def test_a_store_keeps_variables():
    container = tfe.EagerVariableStore()
    for _ in range(2):
        with container.as_default():
            tf.get_variable("w", [2], initializer=tf.ones_initializer())
    assert [v.numpy().tolist() for v in container.variables()] == [[1.0, 1.0]]
    assert tf.get_variable("w", [2]) is not tf.get_variable("w", [2])


def test_optimizers_take_functions():
    v = tfe.Variable(4.0)
    descent = tf.train.GradientDescentOptimizer(0.25)
    for _ in range(3):
        descent.minimize(lambda: v * v)
    assert v.numpy() == pytest.approx(0.5)
    with pytest.raises(RuntimeError, match="should be a function"):
        descent.minimize(v * v)


def test_checks_say_what_does_not_hold():
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"Indices of first 1 different values:\n\[\[1\]\]"
    ):
        tf.assert_equal(tf.constant([1, 2]), tf.constant([1, 3]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="to be true. Summarized data"):
        tf.Assert(tf.constant(False), ["why"])
    for refused in (tf.add_check_numerics_ops, tf.summary.merge_all):
        with pytest.raises(RuntimeError, match="not compatible with eager execution"):
            refused()
