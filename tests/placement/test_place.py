"""Placement: requests, colocation, feasible devices, soft placement, and what is said when it fails."""

import pytest

import headrace as tf
from headrace.placement.place import explain, place
from headrace.plan.prune import prune

CPUS = tuple(f"/job:localhost/replica:0/task:0/device:CPU:{i}" for i in range(2))


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as fresh:
        yield fresh


def placed(fetches, devices=CPUS, soft=False):
    plan = prune(tf.get_default_graph(), [], fetches, [])
    return place(plan, devices, soft)


def test_the_first_device_is_the_default():
    plan = placed([tf.constant(1) + 2])
    assert {n.device for n in plan.nodes.values()} == {CPUS[0]}


def test_a_partial_request_is_completed():
    with tf.device("/cpu:1"):
        a = tf.constant(1, name="a")
    assert placed([a]).nodes["a"].device == CPUS[1]


def test_an_update_lives_with_its_variable():
    with tf.device("/cpu:1"):
        v = tf.Variable(1.0, name="v")
    update = v.assign_add(1.0)
    plan = placed([update])
    assert plan.nodes["v"].device == plan.nodes[update.op.name].device == CPUS[1]


def test_colocation_follows():
    with tf.device("/cpu:1"):
        a = tf.constant(1.0, name="a")
    with tf.colocate_with(a):
        b = tf.constant(2.0, name="b")
    assert placed([a, b]).nodes["b"].device == CPUS[1]


def together(device, other):
    """Two nodes in one group that ask for different devices."""
    with tf.device(device):
        a = tf.constant(1.0, name="a")
    b = tf.constant(2.0, name="b")
    b.op._set_attr("_class", ("loc:@a",))
    b.op._set_device(other)
    return a, b


def test_a_contradiction_names_both():
    a, b = together("/cpu:1", "/cpu:0")
    with pytest.raises(tf.errors.InvalidArgumentError, match="'b' and 'a'|'a' and 'b'"):
        placed([a, b])


@pytest.mark.parametrize("other", ["/cpu:0", "/gpu:1"])
def test_soft_placement_settles_a_contradiction(other):
    a, b = together("/cpu:1", other)
    nodes = placed([a, b], soft=True).nodes
    assert nodes["a"].device == nodes["b"].device == CPUS[0]


def test_soft_placement_never_mixes_tasks():
    a, b = together("/job:worker/task:1", "/job:worker/task:0")
    with pytest.raises(tf.errors.InvalidArgumentError, match="'b' and 'a'|'a' and 'b'"):
        placed([a, b], soft=True)


def test_a_device_that_is_not_there():
    with tf.device("/gpu:0"):
        a = tf.constant(1.0, name="a")
    with pytest.raises(tf.errors.InvalidArgumentError, match="available devices are"):
        placed([a])
    assert placed([a], soft=True).nodes["a"].device == CPUS[0]


def test_explains():
    assert explain(placed([tf.constant(1, name="a")])) == f"a: (Const): {CPUS[0]}"
