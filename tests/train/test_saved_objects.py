"""SavedModels made of objects: saved, loaded, saved again; and by TensorFlow where it is at hand."""

from pathlib import Path

import numpy as np
import pytest

import headrace as tf
from headrace.train.saved_model.structure_coder import NotEncodable, decode, encode
from tests.tensorflow_peer import needs_tensorflow, tensorflow

GOLDEN = Path(__file__).parent / "golden"
X = [[1.0, 2.0, 3.0]]


class Model(tf.Module):
    def __init__(self):
        super().__init__()
        self.w = tf.Variable(np.arange(6, dtype=np.float32).reshape(3, 2), use_resource=True)
        self.inner = tf.Module()
        self.inner.b = tf.Variable([1.0, 2.0], use_resource=True, trainable=False)
        self.scale = tf.constant(3.0)

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, name="x")])
    def __call__(self, x):
        return {"y": tf.matmul(x, self.w) + self.inner.b * self.scale}

    @tf.function
    def add(self, x, times=2):
        for _ in range(times):
            x = x + self.inner.b
        return x


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as sess:
        yield sess


def saved(folder):
    with tf.Graph().as_default(), tf.Session() as sess:
        model = Model()
        sess.run(tf.global_variables_initializer())
        expected = sess.run(model(X))["y"]
        model.add(tf.zeros([2]), times=3)
        model.add(tf.zeros([4, 2]))
        tf.saved_model.save(model, str(folder), signatures=model.__call__)
    return expected


def test_round_trips(tmp_path, session):
    expected = saved(tmp_path / "0")
    for step in range(3):
        model = tf.saved_model.load_v2(str(tmp_path / str(step)))
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(session.run(model(X))["y"], expected)
        assert session.run(model.add(np.float32([0, 0]), times=3)).tolist() == [3, 6]
        assert session.run(model.inner.b).tolist() == [1, 2]
        assert (model.w.trainable, model.inner.b.trainable) == (True, False)
        tf.saved_model.save(model, str(tmp_path / str(step + 1)))


def test_arguments_choose_the_function(tmp_path, session):
    saved(tmp_path / "model")
    model = tf.saved_model.load_v2(str(tmp_path / "model"))
    session.run(tf.global_variables_initializer())
    assert session.run(model.add(tf.zeros([4, 2]), 2)).shape == (4, 2)
    assert session.run(model.signatures["serving_default"](x=tf.constant(X))["y"]).shape == (1, 2)
    with pytest.raises(ValueError, match="Could not find matching function"):
        model.add(tf.zeros([4, 2]), times=7)


def test_the_session_loader_reads_it(tmp_path, session):
    expected = saved(tmp_path / "model")
    message = tf.saved_model.load(session, ["serve"], str(tmp_path / "model"))
    signature = message.signature_def["serving_default"]
    found = session.run(signature.outputs["y"].name, {signature.inputs["x"].name: X})
    np.testing.assert_array_equal(found, expected)


def test_a_module_of_tensorflow(session):
    model = tf.saved_model.load_v2(str(GOLDEN / "tf2"))
    session.run(tf.global_variables_initializer())
    found = session.run(model(np.float32(X))["y"])
    np.testing.assert_allclose(found, np.load(GOLDEN / "tf2.npy"), rtol=1e-6)


def test_a_variable_of_nobody_is_refused(tmp_path, session):
    model, other = tf.Module(), tf.Variable(1.0, use_resource=True)
    model.f = tf.function(lambda: other + 1, input_signature=[])
    with pytest.raises(AssertionError, match="untracked object"):
        tf.saved_model.save(model, str(tmp_path))


def test_what_can_not_be_saved_or_loaded(tmp_path, session):
    with pytest.raises(ValueError, match="Expected a Trackable"):
        tf.saved_model.save(3, str(tmp_path))
    with pytest.raises(ValueError, match="graphs of TF1"):
        tf.saved_model.load_v2(str(GOLDEN / "tf1"))


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        -3,
        1.5,
        "text",
        [1, (2, {"a": None})],
        tf.float32,
        tf.TensorShape([None, 3]),
        tf.TensorSpec([2, None], tf.int32, "x"),
        tf.SparseTensorSpec([3, None], tf.float32),
        tf.RaggedTensorSpec([None, None], tf.int64),
    ],
)
def test_structures(value):
    again = decode(encode(value))
    assert str(again) == str(value) and type(again) is type(value)


def test_other_values_have_no_message():
    with pytest.raises(NotEncodable):
        encode([object()])


@pytest.mark.process
@needs_tensorflow
def test_tensorflow_loads_our_objects(tmp_path):
    expected = saved(tmp_path / "model")
    program = """
        model = tf.saved_model.load("model")
        x = tf.constant([[1.0, 2.0, 3.0]])
        called = model(x)["y"].numpy().tolist()
        served = model.signatures["serving_default"](x=x)["y"].numpy().tolist()
        print(json.dumps([called, served, model.add(tf.zeros([2]), 3).numpy().tolist()]))
    """
    assert tensorflow(tmp_path, program) == [expected.tolist()] * 2 + [[3.0, 6.0]]
