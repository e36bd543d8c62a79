"""Loops and conditionals over several devices: the pieces, and that they compute what the whole does."""

import random
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace as tf
from headrace.partition.split import split
from headrace.placement.place import place
from headrace.plan.prune import prune
from headrace.plan.text import to_text
from headrace.plan.verify import verify
from headrace.variables.functions.defun import Defun
from tests.functions import test_structured_programs as programs
from tests.timing import PATIENCE, ctrl_c, may_lose_ctrl_c, soon

CPUS = tuple(f"/job:localhost/replica:0/task:0/device:CPU:{i}" for i in range(3))


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as fresh:
        yield fresh


def session(count=2, **options):
    return tf.Session(config=tf.ConfigProto(device_count={"CPU": count}, **options))


def pieces(*fetches):
    found = split(place(prune(tf.get_default_graph(), [], fetches, []), CPUS))
    for piece in found:
        verify(piece.plan)
        assert {n.device for n in piece.plan.nodes.values()} == {piece.device}
    return [piece.plan for piece in found]


def two_device_loop(limit=5):
    def body(i, x):
        with tf.device("/cpu:1"):
            y = x * 2.0
        return i + 1, y + 1.0

    with tf.device("/cpu:0"):
        return tf.while_loop(lambda i, x: i < limit, body, [0, 1.0])[1]


# -- what the pieces look like --------------------------------------------------------------------
def test_the_other_device_gets_a_control_loop():
    home, other = pieces(two_device_loop())
    lines = re.sub(r" @\S+| \{[^}]*\}", "", to_text(other)).replace("while/while_context/", "")
    assert lines.splitlines() == [
        "_control_CPU_1/start = Const() : bool[]",
        "_control_CPU_1/enter = Enter(_control_CPU_1/start) : bool[]",
        "_control_CPU_1/merge = Merge(_control_CPU_1/enter, _control_CPU_1/next) : bool[], i32[]",
        "while/LoopCond_0/_to_CPU_1_recv = _Recv() ^_control_CPU_1/merge : bool[]",
        "_control_CPU_1/switch = Switch(_control_CPU_1/merge, while/LoopCond_0/_to_CPU_1_recv) : "
        "bool[], bool[]",
        "_control_CPU_1/next = NextIteration(_control_CPU_1/switch:1) : bool[]",
        "while/Identity/_signal_0/_to_CPU_1_recv = _Recv() ^_control_CPU_1/merge : f32[0]",
        "while/Identity_1_0/_to_CPU_1_recv = _Recv() ^_control_CPU_1/merge : f32[]",
        "while/mul/y = Const() ^while/Identity/_signal_0/_to_CPU_1_recv : f32[]",
        "while/mul = Mul(while/Identity_1_0/_to_CPU_1_recv, while/mul/y) : f32[]",
        "while/mul_0/_to_CPU_0_send = _Send(while/mul)",
        "target while/mul_0/_to_CPU_0_send",
    ]


def test_the_owner_of_the_condition_receives_once_per_iteration():
    home, _ = pieces(two_device_loop())
    [arrives] = [n for n in home.nodes.values() if n.op.name == "_Recv"]
    [beat] = arrives.control
    assert home.nodes[beat].op.name == "Merge"
    sent = {n.attrs["tensor_name"] for n in home.nodes.values() if n.op.name == "_Send"}
    assert any("LoopCond" in name for name in sent)


def test_a_loop_on_one_device_stays_as_it_is():
    with tf.device("/cpu:1"):
        x = tf.while_loop(lambda i: i < 5, lambda i: i + 1, [0])
    with tf.device("/cpu:0"):
        y = x + 1
    for plan in pieces(y):
        assert not any("/_control_" in name for name in plan.nodes)
    with session() as sess:
        assert sess.run(y) == 6


def test_enter_is_copied_to_where_it_is_used():
    with tf.device("/cpu:0"):
        scale = tf.placeholder_with_default(3.0, [])

        def body(i, x):
            with tf.device("/cpu:1"):
                return i + 1, x * scale

        out = tf.while_loop(lambda i, x: i < 4, body, [0, 1.0])[1]
    for plan in pieces(out):
        for node in plan.nodes.values():
            if node.op.name == "_Send":
                source = plan.nodes[node.inputs[0].node]
                assert source.op.name not in ("Enter", "NextIteration")
    with session() as sess:
        assert sess.run(out) == 81


def test_pieces_share_nothing_but_keys():
    """Each Recv has exactly one Send, elsewhere; no other name of another piece is used."""
    found = pieces(two_device_loop())
    sends = [n.attrs for p in found for n in p.nodes.values() if n.op.name == "_Send"]
    recvs = [n.attrs for p in found for n in p.nodes.values() if n.op.name == "_Recv"]

    def keys(attrs):
        return sorted((a["send_device"], a["recv_device"], a["tensor_name"]) for a in attrs)

    assert keys(sends) == keys(recvs)
    assert len(set(keys(sends))) == len(sends)
    for plan in found:
        for node in plan.nodes.values():
            assert all(e.node in plan.nodes for e in node.inputs)
            assert all(c in plan.nodes for c in node.control)


def test_the_same_device_number_of_two_tasks():
    """Names do not collide where several tasks have a CPU:0."""
    tasks = [f"/job:worker/replica:0/task:{i}/device:CPU:0" for i in range(3)]
    with tf.device("/job:worker/task:0"):
        x = tf.placeholder_with_default(1.0, [])
    outs = []
    for i in (1, 2):
        with tf.device(f"/job:worker/task:{i}"):
            outs.append(x + i)
    found = split(place(prune(tf.get_default_graph(), [], outs, []), tasks))
    assert sum(n.op.name == "_Send" for n in found[0].plan.nodes.values()) == 2


# -- running --------------------------------------------------------------------------------------
def test_runs():
    with session() as sess:
        wanted = 1.0
        for _ in range(5):
            wanted = wanted * 2 + 1
        assert sess.run(two_device_loop()) == wanted
        assert sess.run(two_device_loop(0)) == 1


@pytest.mark.parametrize("pred", [True, False])
def test_branches_on_several_devices(pred):
    p = tf.placeholder(tf.bool, [])
    with tf.device("/cpu:0"):
        x = tf.placeholder_with_default(3.0, [])

    def on(device, f):
        def branch():
            with tf.device(device):
                return f(x)

        return branch

    with tf.device("/cpu:2"):
        y = tf.cond(p, on("/cpu:1", lambda x: x * 10), on("/cpu:0", lambda x: x - 1)) + 0.5
    grad = tf.gradients(y, x)[0]
    with session(3) as sess:
        assert sess.run([y, grad], {p: pred}) == ([30.5, 10] if pred else [2.5, 1])


@pytest.mark.parametrize("pred", [True, False])
def test_a_loop_on_a_branch_that_may_be_dead(pred):
    p = tf.placeholder(tf.bool, [])
    y = tf.cond(p, lambda: two_device_loop(), lambda: tf.constant(-1.0))
    with session() as sess:
        assert sess.run(y, {p: pred}) == (63 if pred else -1)


def test_a_control_edge_crosses_in_every_iteration():
    with tf.device("/cpu:0"):
        v = tf.Variable(0, use_resource=True)

    def body(i):
        with tf.device("/cpu:0"):
            update = v.assign_add(1)
        with tf.device("/cpu:1"), tf.control_dependencies([update]):
            return i + 1

    with tf.device("/cpu:1"):
        loop = tf.while_loop(lambda i: i < 7, body, [0])
    with session() as sess:
        sess.run(v.initializer)
        assert sess.run(loop) == 7
        assert sess.run(v) == 7


def test_a_variable_by_reference_is_read_in_every_iteration():
    with tf.device("/cpu:0"):
        v = tf.Variable(1.0)

    def body(i, total):
        with tf.device("/cpu:1"):
            total = total + v
        with tf.control_dependencies([total]):
            update = tf.assign_add(v, 1.0)
        with tf.control_dependencies([update]):
            return i + 1, tf.identity(total)

    total = tf.while_loop(lambda i, t: i < 4, body, [0, 0.0], parallel_iterations=1)[1]
    with session() as sess:
        sess.run(v.initializer)
        assert sess.run(total) == 1 + 2 + 3 + 4


@pytest.mark.parametrize("turns", [0, 1, 2])
def test_what_a_writer_left_is_read_in_a_loop_within_a_loop(turns):
    """The reader's device sends the same value in every turn: nothing else there needs the loops."""
    v = tf.Variable(2.0, use_resource=False)
    written = v.assign(v + 1.0)

    def inner(j, x):
        with tf.device("/cpu:2"):
            return j + 1, x + tf.cast(written, tf.float64)

    def outer(i, x):
        with tf.device("/cpu:1"):
            return i + 1, tf.while_loop(lambda j, x: j < turns, inner, [0, x])[1]

    with tf.device("/cpu:1"):
        total = tf.while_loop(lambda i, x: i < 2, outer, [0, tf.constant(0.0, tf.float64)])[1]
    with session(3) as sess:
        sess.run(v.initializer)
        assert sess.run(total) == 2 * turns * 3
        assert sess.run(total) == 2 * turns * 4


def nested_loops():
    def inner(j, x):
        with tf.device("/cpu:1"):
            x = tf.sin(x) + 0.3
        with tf.device("/cpu:2"):
            return j + 1, tf.cond(x > 0.5, lambda: x * 0.5, lambda: x * 1.5)

    def outer(i, x):
        with tf.device("/cpu:2"):
            _, x = tf.while_loop(lambda j, _: j < i + 1, inner, [0, x])
        return i + 1, x + 0.1

    start = tf.placeholder_with_default(0.2, [])
    y = tf.while_loop(lambda i, _: i < 4, outer, [0, start])[1]
    return start, y


def test_nested_loops_and_their_gradient():
    start, y = nested_loops()
    grad = tf.gradients(y, start)[0]
    with session(3) as three, tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as one:
        np.testing.assert_allclose(three.run([y, grad]), one.run([y, grad]), rtol=1e-6)


def test_tensor_arrays_and_rows():
    with tf.device("/cpu:0"):
        rows = tf.placeholder_with_default(np.arange(12.0).reshape(4, 3), [4, 3])

    def row(x):
        with tf.device("/cpu:1"):
            return tf.cumsum(x) * 2

    out = tf.map_fn(row, rows)
    grad = tf.gradients(out, rows)[0]
    with session() as two, tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as one:
        for got, want in zip(two.run([out, grad]), one.run([out, grad])):
            np.testing.assert_allclose(got, want)


@pytest.mark.parametrize("colocate", [False, True])
def test_a_recurrent_network_over_two_devices(colocate):
    x = tf.constant(np.random.default_rng(0).normal(size=(2, 5, 3)), tf.float32)
    cells = [tf.nn.rnn_cell.DeviceWrapper(tf.nn.rnn_cell.BasicLSTMCell(4), f"/cpu:{i}") for i in range(2)]
    y, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.MultiRNNCell(cells), x, [5, 3], dtype=tf.float32)
    loss = tf.reduce_sum(tf.square(y))
    weights = tf.trainable_variables()
    grads = tf.gradients(loss, weights, colocate_gradients_with_ops=colocate)
    numbers = [
        tf.constant(np.random.default_rng(i).normal(size=w.shape), tf.float32) for i, w in enumerate(weights)
    ]
    fill = [w.assign(n) for w, n in zip(weights, numbers)]
    results = []
    for config in (tf.ConfigProto(device_count={"CPU": 2}), tf.ConfigProto(allow_soft_placement=True)):
        with tf.Session(config=config) as sess:
            sess.run(fill)
            results.append(sess.run([loss, *grads]))
    for got, want in zip(*results):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_functions_that_meet_more_than_once():
    """Calls of one function in one step have meeting places of their own."""

    @Defun(tf.float32, noinline=True)
    def twice(x):
        with tf.device("/cpu:1"):
            y = x * 2
        with tf.device("/cpu:0"):
            return y + 1

    out = tf.while_loop(
        lambda i, x, y: i < 5,
        lambda i, x, y: (i + 1, twice(x), twice(y)),
        [0, 0.0, 1.0],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape(None), tf.TensorShape(None)],
    )
    with session() as sess:
        assert sess.run(out) == (5, 31, 63)


# -- failures -------------------------------------------------------------------------------------
def test_a_failure_in_an_iteration_ends_all_devices():
    def body(i, x):
        with tf.device("/cpu:1"):
            x = tf.check_numerics(x / tf.cast(3 - i, tf.float32), "bad here")
        return i + 1, x

    with tf.device("/cpu:0"):
        x = tf.while_loop(lambda i, x: i < 10, body, [0, 1.0])[1]
    with session() as sess:
        with pytest.raises(tf.errors.InvalidArgumentError, match="bad here"):
            sess.run(x)
        assert sess.run(two_device_loop(1)) == 3


def test_an_endless_loop_ends_by_its_deadline():
    def body(i):
        with tf.device("/cpu:1"):
            return (i + 1) % 7

    with tf.device("/cpu:0"):
        x = tf.while_loop(lambda i: i >= 0, body, [0])
    with session() as sess:
        with soon(1.5), pytest.raises(tf.errors.DeadlineExceededError):
            sess.run(x, options=tf.RunOptions(timeout_in_ms=200))
        assert sess.run(two_device_loop(1)) == 3


@may_lose_ctrl_c
def test_interrupt_ends_an_endless_loop():
    def body(i):
        with tf.device("/cpu:1"):
            return (i + 1) % 7

    with tf.device("/cpu:0"):
        x = tf.while_loop(lambda i: i >= 0, body, [0])
    with session() as sess:
        assert sess.run(two_device_loop(1)) == 3
        with soon(1.8), ctrl_c():
            sess.run(x)
        assert sess.run(two_device_loop(1)) == 3


def test_pieces_that_wait_for_each_other():
    """A loop that lacks its back edge: in the second iteration nobody can go on."""
    with tf.device("/cpu:0"):
        x = two_device_loop()
    merge = next(n for n in tf.get_default_graph().get_operations() if n.type == "Merge")
    merge._update_input(1, merge.inputs[0])
    with session() as sess:
        with pytest.raises(tf.errors.InvalidArgumentError, match="No value will be sent"):
            sess.run(x)
        assert sess.run(tf.constant(2) + 1) == 3


def test_a_loop_without_condition_can_not_be_split():
    with tf.device("/cpu:0"):
        enter = tf.raw_ops.Enter(data=tf.constant(0), frame_name="f")
        merge = tf.raw_ops.Merge(inputs=[enter, enter]).output
        out, again = tf.raw_ops.Switch(data=merge, pred=tf.equal(merge, merge))
        with tf.device("/cpu:1"):
            more = again + again
        merge.op._update_input(1, tf.raw_ops.NextIteration(data=more))
        result = tf.raw_ops.Exit(data=out)
    with session() as sess:
        with pytest.raises(tf.errors.InvalidArgumentError, match="has no condition"):
            sess.run(result)


def test_a_frame_that_is_entered_once():
    with tf.device("/cpu:0"):
        enter = tf.raw_ops.Enter(data=tf.constant(3), frame_name="f")
        with tf.device("/cpu:1"):
            square = tf.square(enter)
        out = tf.raw_ops.Exit(data=square + enter)
    with session() as sess:
        assert sess.run(out) == 12


# -- random programs ------------------------------------------------------------------------------
class Scattered:
    """Builds a structured program with a device chosen at random for every statement; one inside of
    another is on a device of its own with a chance of `apart`."""

    def __init__(self, seed, count, apart=1.0):
        self.rng, self.count, self.apart = random.Random(seed), count, apart
        self.build = programs.build
        self.depth = 0

    def __call__(self, block, state):
        for statement in block:
            self.depth += 1
            if self.depth == 1 or self.rng.random() < self.apart:
                with tf.device(f"/cpu:{self.rng.randrange(self.count)}"):
                    state = self.build([statement], state)
            else:
                state = self.build([statement], state)
            self.depth -= 1
        return state


@pytest.mark.parametrize("apart, mode", [(1.0, "1"), (0.3, "1"), (0.0, "1"), (0.3, "always")])
@settings(max_examples=25)
@given(
    programs.programs,
    st.tuples(*[st.floats(-1, 1, width=16)] * 3),
    st.integers(0, 1 << 30),
    st.integers(2, 3),
)
def test_a_scattered_program_means_what_python_says(apart, mode, program, start, seed, count):
    """And it ends, whichever loops and branches are whole on a device."""
    names = programs.NAMES
    first = {n: (float(v), 1.0 if n == "a" else 0.0) for n, v in zip(names, start)}
    wanted = programs.run(program, first)
    derivative = sum(w * wanted[n][1] for n, w in zip(names, (1.0, 2.0, 3.0)))
    scattered = Scattered(seed, count, apart)
    deadline = tf.RunOptions(timeout_in_ms=int(PATIENCE * 1000))
    with pytest.MonkeyPatch.context() as patch, tf.Graph().as_default(), session(count) as sess:
        patch.setenv("HEADRACE_COMPILE", mode)
        patch.setattr(programs, "build", scattered)
        inputs = programs.packed([tf.placeholder(tf.float64, []) for _ in names])
        found = programs.flat(scattered(program, inputs))
        total = tf.add_n([x * weight for x, weight in zip(found, (1.0, 2.0, 3.0))])
        with_devices = scattered.rng.random() < 0.5
        grad = tf.gradients(total, inputs["a"], colocate_gradients_with_ops=with_devices)[0]
        feeds = {inputs[n]: v for n, v in zip(names, start)}
        for _ in range(3):  # interpreted, then compiled
            values, got = sess.run([found, [] if grad is None else grad], feeds, options=deadline)
            np.testing.assert_allclose(values, [wanted[n][0] for n in names], rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(0.0 if grad is None else got, derivative, rtol=1e-8, atol=1e-10)
