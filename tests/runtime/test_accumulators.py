"""What a backward loop needs of the forward one is kept on stacks and in arrays: no more than it needs, and
only as long as the step lasts."""

import gc
import tracemalloc
import weakref

import numpy as np
import pytest

import headrace as tf
from headrace.ops.control import stack as stacks
from headrace.ops.control import tensor_array_state as arrays

REFERENCE = tf.ConfigProto(graph_options=tf.GraphOptions(optimizer_options=tf.OptimizerOptions(opt_level=-1)))
KILOBYTE = 1024


@pytest.fixture
def made(monkeypatch):
    """Every stack and array that is made, as long as somebody holds it."""
    found = weakref.WeakSet()
    for owner, name in ((stacks, "Stack"), (arrays, "ArrayState")):
        kind = getattr(owner, name)

        def first(self, *args, _start=kind.__init__, **kwargs):
            _start(self, *args, **kwargs)
            found.add(self)

        monkeypatch.setattr(kind, "__init__", first)
    return found


@pytest.fixture(autouse=True)
def without_collector():
    """Freed means: by the last reference, not by the collector some day."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def looped(x, count):
    return tf.while_loop(lambda i, s: i < count, lambda i, s: (i + 1, tf.tanh(s) * x), [0, x])[1]


def unrolled(x, count):
    s = x
    for _ in range(count):
        s = tf.tanh(s) * x
    return s


@pytest.mark.parametrize("config", [REFERENCE, None], ids=["reference", "default"])
def test_stacks_end_with_their_step(made, config):
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        x = tf.placeholder(tf.float32, [64])
        grad = tf.gradients(looped(x, 20), x)[0]
        for _ in range(3):
            session.run(grad, {x: np.ones(64)})
            assert not made


@pytest.mark.parametrize("config", [REFERENCE, None], ids=["reference", "default"])
def test_arrays_end_with_their_step(made, config):
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        x = tf.placeholder(tf.float32, [10, 4])
        grad = tf.gradients(tf.scan(lambda a, row: tf.tanh(a + row), x), x)[0]
        for _ in range(3):
            session.run(grad, {x: np.ones((10, 4))})
            assert not made


def test_stacks_end_with_a_step_that_fails(made):
    with tf.Graph().as_default(), tf.Session(config=REFERENCE) as session:
        x = tf.placeholder(tf.float32, [])
        y = looped(x, 20)
        checked = tf.check_numerics(tf.gradients(y, x)[0] / (x - 1), "no")
        with pytest.raises(tf.errors.InvalidArgumentError, match="no"):
            session.run(checked, {x: 1.0})
        gc.collect()  # an exception holds its frames
        assert not made


def test_a_stack_is_emptied_as_it_is_read(monkeypatch):
    """What is popped is gone: at the end of the step nothing is left on any stack."""
    depths = []
    pop = stacks.Stack.pop

    def noted(self):
        value = pop(self)
        depths.append(len(self.items))
        return value

    monkeypatch.setattr(stacks.Stack, "pop", noted)
    with tf.Graph().as_default(), tf.Session(config=REFERENCE) as session:
        x = tf.placeholder(tf.float32, [])
        session.run(tf.gradients(looped(x, 20), x)[0], {x: 1.0})
    assert max(depths) == 19 and depths.count(0) * 20 == len(depths)


def test_only_values_that_the_gradient_needs_are_kept():
    """A sum needs no forward value: no stack but the counter's."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [])
        y = tf.while_loop(lambda i, s: i < 9, lambda i, s: (i + 1, s + x), [0, x])[1]
        tf.gradients(y, x)
        assert not [n for n in graph.get_operations() if n.type == "StackPushV2"]


def test_a_shape_is_kept_instead_of_the_value():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None])
        y = tf.while_loop(lambda i, s: i < 9, lambda i, s: (i + 1, s + tf.reduce_sum(x * 2.0)), [0, 0.0])[1]
        tf.gradients(y, x)
        kept = [n.inputs[1].dtype for n in graph.get_operations() if n.type == "StackPushV2"]
        assert tf.float32 not in kept


def peak(session, fetch, feeds):
    session.run(fetch, feeds)
    tracemalloc.start()
    session.run(fetch, feeds)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


def test_memory_of_the_backward_pass_is_that_of_the_unrolled_one():
    size, count = 256 * KILOBYTE // 4, 20
    with tf.Graph().as_default(), tf.Session(config=REFERENCE) as session:
        x = tf.placeholder(tf.float32, [size])
        feeds = {x: np.ones(size, np.float32)}
        loop = peak(session, tf.gradients(looped(x, count), x)[0], feeds)
        plain = peak(session, tf.gradients(unrolled(x, count), x)[0], feeds)
    assert loop <= 1.2 * plain, (loop, plain)
