"""Loops and conditionals in GraphDefs that TensorFlow 2.21 wrote: frames (v1), functional While and If
(v2), traced functions; TensorArrays, TensorLists and stacks for gradients.  make_golden_loops.py writes
the file that is read here."""

import pathlib

import numpy as np
import pytest

import headrace as tf

FILE = pathlib.Path(__file__).parent / "golden_loops.npz"
with np.load(FILE) as _file:
    VALUES = dict(_file)
NAMES = sorted(key.removesuffix("/graph") for key in VALUES if key.endswith("/graph"))


def imported(name):
    definition = tf.GraphDef.FromString(VALUES[f"{name}/graph"].tobytes())
    return tf.import_graph_def(definition, name="")


def wanted(name, label):
    start = f"{name}/{label}/"
    return {k.removeprefix(start): v for k, v in VALUES.items() if k.startswith(start)}


def check(name, session, results):
    for label in "ab":
        values = wanted(name, label)
        found = session.run(results, {"x:0": values["feed"]})
        for key, value in found.items():
            np.testing.assert_allclose(value, values[key], rtol=2e-5, atol=1e-6, err_msg=key)


def names_of_results(name):
    return [key for key in wanted(name, "a") if key != "feed"]


@pytest.mark.parametrize("name", NAMES)
def test_runs_as_it_is(name):
    with tf.Graph().as_default(), tf.Session() as session:
        imported(name)
        check(name, session, {key: f"{key}:0" for key in names_of_results(name)})


@pytest.mark.filterwarnings("ignore:Converting sparse IndexedSlices")
@pytest.mark.parametrize("name", [n for n in NAMES if not n.startswith("v1_")])
def test_is_differentiated_here(name):
    """Functional loops say in the graph what they are: their gradient can be asked for anew."""
    with tf.Graph().as_default() as graph, tf.Session() as session:
        imported(name)
        found = [graph.get_tensor_by_name(f"{k}:0") for k in names_of_results(name) if k != "slope"]
        total = tf.add_n([tf.reduce_sum(y * y) for y in found])
        slope = tf.gradients(total, graph.get_tensor_by_name("x:0"))[0]
        check(name, session, {"slope": tf.convert_to_tensor(slope)})


@pytest.mark.parametrize("name", ["v1_nested", "v1_array", "v2_nested", "v2_branch_in_loop"])
def test_runs_on_two_devices(name):
    """Every second node is moved to another device."""
    definition = tf.GraphDef.FromString(VALUES[f"{name}/graph"].tobytes())
    for i, node in enumerate(definition.node):
        if not any("loc:@" in str(v) for v in node.attr["_class"].list.s) and i % 2:
            if not _holds_state(node):
                node.device = "/cpu:1"
        if not node.attr["_class"].list.s:
            del node.attr["_class"]
    config = tf.ConfigProto(device_count={"CPU": 2})
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        tf.import_graph_def(definition, name="")
        check(name, session, {key: f"{key}:0" for key in names_of_results(name)})


def _holds_state(node):
    return any(word in node.op for word in ("TensorArray", "Stack", "Enter", "TensorList"))
