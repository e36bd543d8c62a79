"""Random programs with loops, conditionals and arrays: TensorFlow's GraphDefs run here as they are, here
they are differentiated anew, and the same programs are built here; all give TensorFlow's values."""

import pathlib
import pickle
import random

import numpy as np
import pytest

import headrace as tf
from tests.functions import random_loops
from tests.functions.random_loops import DEVICES, FEEDS, SHAPE
from tests.tensorflow_peer import needs_tensorflow, tensorflow

pytestmark = [pytest.mark.process, needs_tensorflow]
FORMS = ["v1", "v2", "traced"]
FEW, MANY = range(6), range(100, 160)

EXPORT = f"""
import importlib.util, pickle
spec = importlib.util.spec_from_file_location("random_loops", {random_loops.__file__!r})
programs = importlib.util.module_from_spec(spec)
spec.loader.exec_module(programs)
with open("programs.pickle", "wb") as file:
    pickle.dump(programs.export(tf, FIRST, FORM), file)
print("0")
"""


@pytest.fixture(params=FORMS)
def form(request):
    return request.param


def exported(folder: pathlib.Path, seeds, form):
    """[(seed, GraphDef of y, GraphDef of y and slope, values for each feed)]"""
    program = EXPORT.replace("FIRST", repr(list(seeds))).replace("FORM", repr(form))
    tensorflow(folder, program)
    return pickle.loads((folder / "programs.pickle").read_bytes())


def new_session():
    config = tf.ConfigProto(device_count={"CPU": DEVICES}, allow_soft_placement=True)
    return tf.Session(config=config)


def check(session, x, wanted, runs, seed):
    for feed, values in zip(FEEDS, runs):
        for _ in range(3):  # interpreted, then compiled
            found = session.run(wanted[: len(values)], {x: feed})
        for got, want in zip(found, values):
            scale = max(1.0, np.abs(want).max())
            np.testing.assert_allclose(got, want, rtol=2e-4, atol=2e-5 * scale, err_msg=str(seed))


def runs_as_it_is(graph_def, runs, seed):
    with tf.Graph().as_default(), new_session() as session:
        tf.import_graph_def(tf.GraphDef.FromString(graph_def), name="")
        check(session, "x:0", ["y:0", "slope:0"], runs, seed)


def is_differentiated_here(graph_def, runs, seed):
    with tf.Graph().as_default() as graph, new_session() as session:
        tf.import_graph_def(tf.GraphDef.FromString(graph_def), name="")
        x, y = graph.get_tensor_by_name("x:0"), graph.get_tensor_by_name("y:0")
        check(session, x, slopes(x, y), runs, seed)


def is_built_here(runs, seed):
    with tf.Graph().as_default(), new_session() as session:
        x = tf.placeholder(tf.float32, SHAPE)
        y = random_loops.build(tf, random.Random(seed), x, DEVICES)
        check(session, x, [y, tf.gradients(tf.reduce_sum(y * y), x)[0]], runs, seed)


def slopes(x, y):
    first = tf.gradients(tf.reduce_sum(y * y), x)[0]
    second = tf.gradients(tf.reduce_sum(first * FEEDS[0]), x)[0]
    return [y, first] if second is None else [y, first, second]


@pytest.mark.parametrize("seeds", [FEW, pytest.param(MANY, marks=pytest.mark.slow)], ids=len)
@pytest.mark.filterwarnings("ignore:Converting sparse IndexedSlices")
def test_programs_give_tensorflows_values(tmp_path, form, seeds):
    programs = exported(tmp_path, seeds, form)
    assert len(programs) >= 0.9 * len(seeds)
    for seed, forward, with_slope, runs in programs:
        runs_as_it_is(with_slope, runs, seed)
        if form == "v1":  # in the other forms TensorFlow may trace a body twice
            is_built_here(runs, seed)
        else:
            is_differentiated_here(forward, runs, seed)
