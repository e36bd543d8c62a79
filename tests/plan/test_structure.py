"""Loops and conditionals are found in plans of primitives; what is neither stays as it is."""

import pytest

import headrace as tf
from headrace.passes.pipeline import improve
from headrace.plan.prune import prune
from headrace.plan.structure import structured
from headrace.plan.units import BRANCH, LOOP, branch_of, inner_plans, loop_of
from headrace.plan.verify import verify

pytestmark = pytest.mark.pure


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def find(*fetches):
    """The structured plan, every plan inside of it verified."""
    plan = structured(improve(prune(tf.get_default_graph(), [], list(fetches), [])))
    if plan is not None:
        check(plan)
    return plan


def check(plan):
    verify(plan)
    for node in plan.nodes.values():
        for inner in inner_plans(node):
            check(inner)


def shape(plan):
    """The units of a plan, as nested lists."""
    kinds = {LOOP: "loop", BRANCH: "branch"}
    return [[kinds[n.op], *(shape(p) for p in inner_plans(n))] for n in plan.nodes.values() if n.op in kinds]


def units(plan, op):
    return [n for n in plan.nodes.values() if n.op is op]


def test_a_loop():
    x = tf.random.uniform([2])
    _, y = tf.while_loop(lambda i, v: i < 5, lambda i, v: (i + 1, v * x), [0, x])
    plan = find(y)
    assert shape(plan) == [["loop", [], []]]
    (node,) = units(plan, LOOP)
    loop = loop_of(node)
    assert (loop.carried, len(node.inputs), len(node.outputs)) == (2, 3, 2)
    assert [n.op.name for n in loop.condition.nodes.values()][-1] == "Less"
    assert "Mul" in [n.op.name for n in loop.body.nodes.values()]


def test_loops_and_branches_inside_of_each_other():
    x = tf.random.uniform([])

    def body(i, v):
        return i + 1, tf.cond(v > 0.5, lambda: inner(v), lambda: v + 1.0)

    def inner(v):
        return tf.while_loop(lambda j, w: j < 3, lambda j, w: (j + 1, w * x), [0, v])[1]

    _, y = tf.while_loop(lambda i, v: i < 5, body, [0, x])
    assert shape(find(y)) == [["loop", [], [["branch", [], [["loop", [], []]]]]]]


def test_the_gradient_of_a_branch_is_a_second_branch():
    x = tf.random.uniform([3])
    y = tf.cond(x[0] > 0.5, lambda: tf.sin(x), lambda: x * x)
    loss = tf.exp(tf.reduce_sum(y))
    plan = find(y, tf.gradients(loss, x)[0])
    first, second = units(plan, BRANCH)
    merged, *others = zip(*branch_of(first).gives)
    assert None not in merged
    assert all(None in pair for pair in others) or not others  # kept for the second one
    assert second.inputs[0] == first.inputs[0]


def test_the_gradient_of_a_loop_is_a_second_loop():
    x = tf.random.uniform([3])
    _, y = tf.while_loop(lambda i, v: i < 5, lambda i, v: (i + 1, tf.sin(v) * x), [0, x])
    plan = find(y, tf.gradients(y, x)[0])
    forward, backward = (list(loop_of(n).body.nodes.values()) for n in units(plan, LOOP))
    assert any(n.op.name == "StackPushV2" for n in forward)
    assert any(n.op.name == "StackPopV2" for n in backward)


def test_a_node_that_waits_for_a_branch_runs_after_it():
    v = tf.Variable(1.0)
    with tf.control_dependencies([v.initializer]):
        done = tf.cond(v > 0.0, lambda: v.assign_add(1.0), lambda: v.assign_add(2.0))
    with tf.control_dependencies([done]):
        after = tf.identity(3.0)
    plan = find(after)
    names = list(plan.nodes)
    (branch,) = units(plan, BRANCH)
    assert names.index(branch.name) < names.index(plan.fetches[0].node)


def test_a_value_that_may_be_dead_stays_with_the_executor():
    switched = tf.raw_ops.Switch(data=tf.constant(1.0), pred=tf.random.uniform([]) > 0.5)
    assert find(switched[0] * 2.0) is None


def test_a_loop_without_a_condition_stays_with_the_executor():
    entered = tf.raw_ops.Enter(data=tf.random.uniform([]), frame_name="f")
    assert find(tf.raw_ops.Exit(data=tf.square(entered))) is None


def test_a_merge_of_two_conditions_stays_with_the_executor():
    x = tf.random.uniform([2])
    left = tf.raw_ops.Switch(data=x, pred=x[0] > 0.5)[0]
    right = tf.raw_ops.Switch(data=x, pred=x[1] > 0.5)[1]
    assert find(tf.raw_ops.Merge(inputs=[left, right])[0]) is None
