"""TensorArray: what it refuses, what an unwritten cell is, gradients, the older ops."""

import numpy as np
import pytest

import headrace as tf

pytestmark = pytest.mark.pure


@pytest.fixture(autouse=True)
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def array(**options):
    return tf.TensorArray(tf.float32, **{"size": 3, "tensor_array_name": "foo", **options})


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: array().write(0, 1.0).write(0, 2.0).flow, "index 0 because it has already been wri"),
        (lambda: array().write(-1, 1.0).flow, "Tried to write to index -1 but array is not resize"),
        (lambda: array().write(3, 1.0).flow, "Tried to write to index 3 but .* size is: 3"),
        (lambda: array().read(0), "Could not read from TensorArray index 0"),
        (lambda: array().read(3), "Tried to read from index 3 but array size is: 3"),
        (lambda: array().unstack([1.0, 2.0, 3.0, 4.0]).flow, "Max scatter index must be < array size"),
        (lambda: array().split([1.0, 2.0], [1, 1]).flow, "size of lengths .3 vs. 2."),
        (lambda: array().split([1.0, 2.0], [1, 0, 0]).flow, "sum of lengths is 1"),
        (lambda: array(size=-1).size(), "Size should be >= 0"),
        (lambda: array(size=0).stack(), "not fully defined"),
    ],
)
def test_misuse(session, make, message):
    with pytest.raises((tf.errors.InvalidArgumentError, tf.errors.UnimplementedError), match=message):
        session.run(make())
    assert session.run(array().unstack([1.0, 2.0, 3.0]).read(1)) == 2.0  # the session goes on


def test_an_element_is_read_once_unless_said_otherwise(session):
    written = array().unstack([1.0, 2.0, 3.0])
    first = written.read(1)
    with tf.control_dependencies([first]):
        second = written.read(1)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Could not read index 1 twice"):
        session.run(second)
    kept = array(clear_after_read=False).unstack([1.0, 2.0, 3.0])
    assert session.run([kept.read(1), kept.read(1)]) == [2.0, 2.0]


def test_after_close(session):
    a = array().write(0, 1.0)
    with tf.control_dependencies([a.close()]):
        late = a.write(1, 1.0).flow
    with pytest.raises(tf.errors.InvalidArgumentError, match="has already been closed"):
        session.run(late)


def test_shapes_are_inferred_and_kept(session):
    a = array().write(0, [1.0, 2.0])
    assert a.element_shape.as_list() == [2] and a.read(0).shape.as_list() == [2]
    with pytest.raises(ValueError, match="Inconsistent shapes: saw .3,. but expected .2,."):
        a.write(1, [1.0, 2.0, 3.0])
    loose = array(infer_shape=False).write(0, [1.0]).write(1, [1.0, 2.0])
    assert session.run(loose.read(1)).tolist() == [1.0, 2.0]
    with pytest.raises(tf.errors.InvalidArgumentError, match="has inconsistent shapes"):
        session.run(loose.gather([0, 1]))
    hidden = tf.placeholder_with_default([1.0], None)
    with pytest.raises(tf.errors.InvalidArgumentError, match="which is incompatible with the Tensor"):
        session.run(a.write(1, hidden).flow)


def test_an_unwritten_element_of_known_shape_is_zero(session):
    a = array(element_shape=[2]).write(1, [1.0, 2.0])
    assert session.run(a.stack()).tolist() == [[0, 0], [1, 2], [0, 0]]


def test_grows(session):
    a = array(size=0, dynamic_size=True).write(4, 1.0)
    assert session.run(a.size()) == 5
    assert (
        session.run(array(size=0, dynamic_size=True, infer_shape=False).split([1.0, 2.0, 3.0], [1, 2]).size())
        == 2
    )


def test_constructor_refuses_contradictions():
    with pytest.raises(ValueError, match="Size must be provided"):
        tf.TensorArray(tf.float32)
    a = array()
    with pytest.raises(ValueError, match="both a handle and size"):
        tf.TensorArray(tf.float32, size=1, handle=a.handle, flow=a.flow)
    with pytest.raises(ValueError, match="flow must not be None"):
        tf.TensorArray(tf.float32, handle=a.handle)


def test_gradients_of_two_calls_do_not_mix(session):
    x = tf.constant([1.0, 2.0, 3.0])
    a = array(clear_after_read=False).unstack(x)
    y = a.read(0) * 2 + a.read(0) * a.read(2)
    z = tf.reduce_sum(a.stack())
    dy, dz = tf.gradients(y, x)[0], tf.gradients(z, x)[0]
    assert [g.tolist() for g in session.run([dy, dz])] == [[5, 0, 1], [1, 1, 1]]


def test_gradient_through_a_loop(session):
    x = tf.constant(np.arange(1.0, 5.0, dtype=np.float32))
    source = tf.TensorArray(tf.float32, 4).unstack(x)

    def body(i, total, out):
        total += source.read(i) ** 2
        return i + 1, total, out.write(i, total)

    out = tf.while_loop(lambda i, *_: i < 4, body, (0, 0.0, tf.TensorArray(tf.float32, 4)))[2]
    sums = out.stack()
    grad = tf.gradients(sums, x, grad_ys=[tf.constant([1.0, 0.0, 0.0, 10.0])])[0]
    assert session.run(sums).tolist() == [1, 5, 14, 30]
    assert session.run(grad).tolist() == [22, 40, 60, 80]


def test_arrays_of_text(session):
    a = tf.TensorArray(tf.string, size=2).unstack(["a", "b"])
    assert session.run(a.stack()).tolist() == [b"a", b"b"]


@pytest.mark.parametrize("version", ["", "V2"])
def test_older_ops(version):
    with tf.Graph().as_default() as graph, tf.Session() as session:
        old = tf.GraphDef()
        old.versions.producer = 10
        tf.import_graph_def(old)
        made = getattr(tf.raw_ops, f"TensorArray{version}")(size=2, dtype=tf.float32)
        use = lambda name, **kw: getattr(tf.raw_ops, f"TensorArray{name}{version}")(handle=made, **kw)
        flow = use("Scatter", indices=[0, 1], value=[[1.0], [2.0]], flow_in=0.0)
        size = use("Size", flow_in=flow)
        with tf.control_dependencies([size]):
            value, lengths = use("Concat", flow_in=flow, dtype=tf.float32)
        assert graph.graph_def_versions.producer == 10
        assert [v.tolist() for v in session.run([value, lengths, size])] == [[1, 2], [1, 1], 2]
