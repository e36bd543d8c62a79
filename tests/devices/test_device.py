"""Devices: a toy accelerator whose memory is not the host's; the null device; placement by what they
can run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import headrace as tf
from headrace.core.errors import InvalidArgumentError
from headrace.devices import device as devices
from headrace.devices.device import Attributes, HostMemory, Memory, Program
from headrace.devices.null import Null
from headrace.devices.separate import separate_program
from headrace.ops.declaration.building.build import group
from headrace.ops.declaration.traits import ELEMENTWISE, STATEFUL
from headrace.plan.plan import Plan, PlanNode
from tests.ops.declared import Built, samples


class Far:
    """An array in the toy's memory: nothing of NumPy's works on it."""

    def __init__(self, array: Any) -> None:
        self.hidden = np.array(array)


class Toy(HostMemory):
    """Runs element-wise ops on arrays of its own, and counts what crosses its border."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.crossings = {"in": 0, "out": 0}
        self.waits = 0

    def attributes(self) -> Attributes:
        return Attributes("TOY", 1 << 30)

    def can_run(self, node: PlanNode) -> bool:
        return ELEMENTWISE in node.op.traits and STATEFUL not in node.op.traits

    def prepare(self, piece: Plan) -> Program:
        return separate_program(self, piece, self.compute)

    def compute(self, node: PlanNode, values: Sequence[Any]) -> Sequence[Any]:
        arguments = group([v.hidden for v in values], node.op, node.attrs)
        result = node.op.compute(arguments, dict(node.attrs))
        results = result if isinstance(result, (list, tuple)) else [result]
        return [Far(np.asarray(r, o.dtype.numpy)) for r, o in zip(results, node.outputs, strict=True)]

    def from_host(self, value: Any) -> Far:
        self.crossings["in"] += 1
        return Far(value)

    def to_host(self, value: Far) -> Any:
        self.crossings["out"] += 1
        return value.hidden

    def copy_to(self, value: Far, peer: Any) -> Any:
        return Far(value.hidden) if isinstance(peer, Toy) else peer.from_host(self.to_host(value))

    def wait(self) -> None:
        self.waits += 1

    def memory(self) -> Memory:
        return Memory(0, 1 << 30)


@pytest.fixture
def toys(monkeypatch):
    """The toys that sessions make."""
    made: list[Toy] = []
    monkeypatch.setattr(devices, "KINDS", dict(devices.KINDS))

    def make(name: str) -> Toy:
        made.append(Toy(name))
        return made[-1]

    devices.register("TOY", make)
    return made


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as fresh:
        yield fresh


def config(**settings: Any) -> Any:
    return tf.ConfigProto(device_count={"CPU": 1, "TOY": 1}, **settings)


def test_takes_part_in_a_graph(toys):
    x = tf.placeholder(tf.float32, [3])
    w = tf.Variable([1.0, 2.0, 3.0])
    with tf.device("/device:TOY:0"):
        y = tf.tanh(x * w) + x
    total = tf.reduce_sum(y * 2.0)
    with tf.Session(config=config()) as session:
        listed = [(d.device_type, d.memory_limit_bytes) for d in session.list_devices()]
        assert listed == [("CPU", 256 << 20), ("TOY", 1 << 30)]
        session.run(w.initializer)
        fed = np.array([0.1, 0.2, 0.3], np.float32)
        for _ in range(3):
            found = session.run([y, total], {x: fed})
    wanted = np.tanh(fed * np.array([1, 2, 3], np.float32)) + fed
    np.testing.assert_allclose(found[0], wanted, rtol=1e-6)
    np.testing.assert_allclose(found[1], 2 * wanted.sum(), rtol=1e-6)
    (toy,) = toys
    # x (once for both of its users) and w go in; y comes out for the sum and, fetched, for the user
    assert toy.crossings == {"in": 6, "out": 6}
    assert toy.waits == 4, "at the end of each of the three steps, and of the session"


def test_a_value_goes_from_device_to_device(toys):
    """Not through the host, unless that is where it goes; dead values and iterations too."""
    x = tf.placeholder(tf.float32, [2])
    with tf.device("/device:TOY:0"):
        y = tf.tanh(x)
    with tf.device("/device:TOY:1"):
        z = tf.exp(y)
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 1, "TOY": 2})) as session:
        found = session.run(z, {x: [0.1, 0.2]})
    np.testing.assert_allclose(found, np.exp(np.tanh([0.1, 0.2])), rtol=1e-6)
    assert [toy.crossings for toy in toys] == [{"in": 1, "out": 0}, {"in": 0, "out": 1}]


def test_loops_and_branches_over_two_devices(toys):
    x = tf.placeholder(tf.float32, [2])

    def body(i, v):
        with tf.device("/device:TOY:0"):
            v = tf.tanh(v)
        with tf.device("/device:TOY:1"):
            v = v * 2.0
        return i + 1, tf.cond(tf.equal(i, 1), lambda: v + 1.0, lambda: v)

    _, y = tf.while_loop(lambda i, v: i < 3, body, [0, x])
    with tf.Session(
        config=tf.ConfigProto(device_count={"CPU": 1, "TOY": 2}, allow_soft_placement=True)
    ) as session:
        found = session.run(y, {x: [0.1, 0.2]})
    wanted = np.array([0.1, 0.2], np.float32)
    for i in range(3):
        wanted = np.tanh(wanted) * 2 + (i == 1)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


ELEMENTWISE_SAMPLES = [
    (name, o, s)
    for name, o, s in samples()
    if ELEMENTWISE in o.traits and not (o.is_stateful or o.wants_context or o.reference is None)
]


@pytest.mark.parametrize(
    "op, sample", [c[1:] for c in ELEMENTWISE_SAMPLES], ids=[c[0] for c in ELEMENTWISE_SAMPLES]
)
def test_element_wise_ops(toys, op, sample):
    built = Built(op, sample)
    wanted = built.run(built.outputs)
    built.node._set_device("/device:TOY:0")
    with tf.Session(graph=built.graph, config=config()) as session:
        found = session.run(built.outputs, built.feeds)
    for f, w in zip(found, wanted, strict=True):
        np.testing.assert_allclose(f, w, rtol=1e-6) if np.asarray(w).dtype.kind in "fc" else (
            np.testing.assert_array_equal(f, w)
        )
    assert toys[-1].crossings["out"] in (0, len(wanted)), "0: an identity, which no device runs"


def test_what_it_can_not_run_is_refused(toys):
    with tf.device("/device:TOY:0"):
        y = tf.matmul(tf.ones([2, 2]), tf.ones([2, 2]))
    with tf.Session(config=config()) as session:
        with pytest.raises(InvalidArgumentError, match="no supported kernel for TOY devices") as e:
            session.run(y)
    assert "CPU" in str(e.value) and "test_device.py" in str(e.value)


def test_soft_placement_falls_back(toys):
    x = tf.placeholder(tf.float32, [2, 2])
    with tf.device("/device:TOY:0"):
        y = tf.tanh(tf.matmul(x, x))
    with tf.Session(config=config(allow_soft_placement=True)) as session:
        np.testing.assert_allclose(session.run(y, {x: np.eye(2)}), np.tanh(np.eye(2)).astype("f"), rtol=1e-6)
    assert toys[0].crossings == {"in": 1, "out": 1}, "the product is the host's, tanh the toy's"


def test_a_kind_has_one_maker(toys):
    with pytest.raises(ValueError, match="already"):
        devices.register("TOY", Toy)


# -- null ------------------------------------------------------------------------------------------------
def test_null_computes_nothing(monkeypatch, capsys):
    made: list[Null] = []
    monkeypatch.setattr(
        devices, "KINDS", devices.KINDS | {"NULL": lambda name: made.append(Null(name)) or made[-1]}
    )
    x = tf.placeholder(tf.float32, [2])
    with tf.device("/device:NULL:0"):
        y = tf.exp(x + 1.0)
    z = y + 3.0
    with tf.Session(config=tf.ConfigProto(device_count={"NULL": 1})) as session:
        for _ in range(2):
            found = session.run([y, z], {x: [5.0, 6.0]})
    np.testing.assert_array_equal(found[0], [0.0, 0.0])
    np.testing.assert_array_equal(found[1], [3.0, 3.0])
    assert made[0].counts["Exp"] == 2


# -- the host's ------------------------------------------------------------------------------------------
def test_memory_of_the_host():
    (cpu,) = devices.local_devices({})
    array = cpu.allocate((2, 3), tf.float32)
    assert array.shape == (2, 3) and array.dtype == np.float32
    assert cpu.to_host(cpu.from_host(array)) is array
    memory = cpu.memory()
    assert 0 < memory.in_use < memory.limit
    cpu.wait()
