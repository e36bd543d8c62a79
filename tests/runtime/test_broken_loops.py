"""GraphDefs whose loops are broken on purpose: an error or a result, never a hang, never a crash; on one
device and on two; and the session goes on."""

import random
import time

import numpy as np
import pytest

import headrace as tf
from tests.functions.test_golden_loops import VALUES
from tests.timing import PATIENCE

pytestmark = pytest.mark.pure

NAMES = ["v1_counter", "v1_nested", "v1_branch_in_loop", "v1_array"]
DEADLINE = 3.0  # seconds: a change may make a loop endless
FLOW = ("Enter", "Exit", "NextIteration", "Merge", "Switch", "LoopCond")


def definition(name):
    return tf.GraphDef.FromString(VALUES[f"{name}/graph"].tobytes())


# -- ways to break a graph ------------------------------------------------------------------------
def chosen(graph, rng, *kinds):
    return rng.choice([n for n in graph.node if n.op in kinds])


def bypassed(graph, rng):
    """A primitive is taken out; who used it gets its input."""
    node = chosen(graph, rng, "Enter", "Exit", "NextIteration")
    for other in graph.node:
        for i, source in enumerate(other.input):
            if source == node.name:
                other.input[i] = node.input[0]
    graph.node.remove(node)


def renamed_frame(graph, rng):
    chosen(graph, rng, "Enter").attr["frame_name"].s = b"another"


def constant_enter(graph, rng):
    node = chosen(graph, rng, "Enter")
    node.attr["is_constant"].b = not node.attr["is_constant"].b


def without_back_edge(graph, rng):
    node = chosen(graph, rng, "Merge")
    node.input[1] = node.input[0]


def turned_switch(graph, rng):
    """The other side of a Switch is used."""
    node = chosen(graph, rng, "Switch")
    for other in graph.node:
        for i, source in enumerate(other.input):
            if source == node.name:
                other.input[i] = f"{node.name}:1"
            elif source == f"{node.name}:1":
                other.input[i] = node.name


def other_input(graph, rng):
    """An input comes from anywhere, of whatever type and frame."""
    node = chosen(graph, rng, *FLOW)
    place = rng.randrange(len(node.input))
    node.input[place] = rng.choice([n for n in graph.node if n.op != "NoOp"]).name


def other_control(graph, rng):
    node = rng.choice([n for n in graph.node if n.op != "Placeholder"])
    node.input.append("^" + rng.choice(graph.node).name)


def lost_control(graph, rng):
    node = rng.choice([n for n in graph.node if any(i.startswith("^") for i in n.input)])
    kept = [i for i in node.input if not i.startswith("^")]
    node.input[:] = kept


def plain_condition(graph, rng):
    chosen(graph, rng, "LoopCond").op = "LogicalNot"


def no_overlap(graph, rng):
    chosen(graph, rng, "Enter").attr["parallel_iterations"].i = rng.choice([-1, 0, 1])


CHANGES = [
    bypassed,
    renamed_frame,
    constant_enter,
    without_back_edge,
    turned_switch,
    other_input,
    other_control,
    lost_control,
    plain_condition,
    no_overlap,
]


def scattered(graph, rng):
    for node in graph.node:
        if not any(word in node.op for word in ("TensorArray", "Stack", "Enter", "Placeholder")):
            node.device = f"/cpu:{rng.randrange(2)}"


def outcome(graph, session_config):
    """What happens: "result", or the name of the error."""
    start = time.perf_counter()
    options = tf.RunOptions(timeout_in_ms=int(DEADLINE * 1000))
    with tf.Graph().as_default(), tf.Session(config=session_config) as session:
        try:
            tf.import_graph_def(graph, name="")
            session.run(["y0:0", "slope:0"], {"x:0": np.ones((3, 2), "f")}, options=options)
            said = "result"
        except (ValueError, TypeError, tf.errors.OpError) as error:
            said = type(error).__name__
        assert time.perf_counter() - start < DEADLINE + PATIENCE, "it hung"
        assert session.run(tf.constant(1) + 1) == 2
    return said


@pytest.fixture(scope="module", autouse=True)
def warmed_up():
    """Modules are loaded once, not within somebody's deadline."""
    with tf.Graph().as_default(), tf.Session() as session:
        for name in NAMES:
            tf.import_graph_def(definition(name), name=name)
            session.run(f"{name}/y0:0", {f"{name}/x:0": np.ones((3, 2), "f")})


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("change", CHANGES, ids=lambda f: f.__name__)
def test_broken(change, devices):
    config = tf.ConfigProto(device_count={"CPU": devices}, allow_soft_placement=devices == 1)
    for seed, name in enumerate(NAMES):
        rng = random.Random(f"{change.__name__}{seed}")
        graph = definition(name)
        change(graph, rng)
        if devices == 2:
            scattered(graph, rng)
        outcome(graph, config)


@pytest.mark.slow
@pytest.mark.parametrize("devices", [1, 2])
def test_broken_many_times(devices):
    config = tf.ConfigProto(device_count={"CPU": devices}, allow_soft_placement=devices == 1)
    for seed in range(150):
        rng = random.Random(seed)
        graph = definition(rng.choice(NAMES))
        for _ in range(rng.randrange(1, 3)):
            rng.choice(CHANGES)(graph, rng)
        if devices == 2:
            scattered(graph, rng)
        outcome(graph, config)
