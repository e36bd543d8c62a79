"""Bad input, walked through as a user meets it: TF's class of error, a message that names the node and the
user's line, and a session that is as usable as before."""

from __future__ import annotations

import numpy as np
import pytest
from google.protobuf import text_format

import headrace as tf

INVALID = tf.errors.InvalidArgumentError
EXHAUSTED = tf.errors.ResourceExhaustedError
NAN, HUGE = float("nan"), 1 << 62


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as fresh:
        yield fresh


def refused(call, error, message=None):
    """The text of the error that `call` raises; a second call raises the same."""
    texts = []
    for _ in range(2):
        with pytest.raises(error, match=message) as caught:
            call()
        texts.append(str(caught.value))
    return texts[0]


def names_the_line(text, node, line):
    """The layout of docs/errors.md: what, which node, which line, and perhaps what to do."""
    lines = text.split("\n")
    *what, at_node, made = lines[:-1] if lines[-1].startswith("  hint  ") else lines
    assert what and at_node == f"  node  {node}"
    assert made.startswith("  made  test_bad_input.py:") and line in made


# -- when the graph is built ---------------------------------------------------------------------
@pytest.mark.parametrize(
    "build, error, message",
    [
        (lambda: tf.constant(1) + tf.constant(1.0), TypeError, "does not match type int32"),
        (lambda: tf.exp(tf.constant(1)), TypeError, "DataType int32 not in list of allowed"),
        (lambda: tf.matmul([["a"]], [["b"]]), TypeError, "DataType string not in list"),
        (lambda: tf.constant(None), ValueError, "None values not supported"),
        (lambda: tf.constant([[1], [2, 3]]), ValueError, "must be a dense tensor"),
        (lambda: tf.constant([1, "a"]), TypeError, "mixed types"),
        (lambda: tf.constant(1 << 70), TypeError, "Failed to convert"),
        (lambda: tf.constant([1, 2, 3], shape=[2]), ValueError, "Too many elements"),
        (lambda: tf.placeholder(tf.float32, [-1]), ValueError, "-1 must be >= 0"),
        (lambda: tf.placeholder("no type"), TypeError, "Expected DataType"),
        (lambda: tf.constant([1, 2])[NAN], TypeError, "valid indices, got nan"),
        (lambda: tf.gather([1, 2], NAN), TypeError, "DataType float32 not in list"),
        (lambda: tf.gather([1, 2], "a"), TypeError, "DataType string not in list"),
        (lambda: bool(tf.constant(True)), TypeError, "as a Python `bool` is not allowed"),
        (lambda: list(tf.constant([1])), TypeError, "only iterable when eager"),
        (lambda: np.array(tf.constant([1])), NotImplementedError, "symbolic Tensor"),
        (lambda: tf.placeholder(tf.float32, [2]).set_shape([3]), ValueError, "not compatible"),
        (lambda: tf.split(tf.zeros([4]), 0), ValueError, "passed 0 less than minimum 1"),
        (lambda: tf.device("/no:such"), ValueError, "Unknown attribute"),
        (lambda: tf.name_scope("a b").__enter__(), ValueError, "not a valid scope name"),
        (lambda: tf.constant(1).eval(), ValueError, "No default session"),
        (lambda: tf.Session(config={"a": 1}), TypeError, "config must be a tf.ConfigProto"),
        (lambda: tf.Session(graph="g"), TypeError, "graph must be a tf.Graph"),
        (lambda: tf.Session(3), TypeError, "target must be a string"),
    ],
)
def test_building(build, error, message):
    refused(build, error, message)


@pytest.mark.parametrize(
    "build, message",
    [
        (lambda: tf.zeros([2, 3]) + tf.zeros([4]), "must be equal, but are 3 and 4"),
        (lambda: tf.matmul(tf.zeros([2, 3]), tf.zeros([4, 5])), "must be equal, but are 3 and 4"),
        (lambda: tf.reshape(tf.zeros([6]), [4, 2]), "6 elements to shape .4,2. .8 elements"),
        (lambda: tf.reshape(tf.zeros([6]), [-2, 3]), "Invalid value in tensor used for shape: -2"),
        (lambda: tf.concat([tf.zeros([2, 3]), tf.zeros([2, 2])], 0), "are 3 and 2"),
        (lambda: tf.squeeze(tf.zeros([2]), [0]), "Can not squeeze dim.0., expected a dimension"),
        (lambda: tf.transpose(tf.zeros([2, 3]), [0, 5]), "perm dim 5 is out of range"),
        (lambda: tf.reduce_sum(tf.zeros([2]), 5), "Invalid reduction dimension 5"),
        (lambda: tf.split(tf.zeros([5]), 2), "evenly divisible by 2 but is 5"),
        (lambda: tf.range(0, 5, 0), "Requires delta != 0"),
        (lambda: tf.fill([-2], 1.0), "must be >= 0"),
        (lambda: tf.random_uniform([-2]), "used for shape: -2"),
        (lambda: tf.nn.top_k(tf.zeros([0]), 1), "last dimension >= k = 1 but is 0"),
        (lambda: tf.assign(tf.Variable([1.0]), [1.0, 2.0]), "are 1 and 2"),
    ],
)
def test_shapes_that_can_not_be(build, message):
    """Both a ValueError, as TF has it, and an InvalidArgumentError; with node and line."""
    text = refused(build, ValueError, message)
    assert "\n  node  " in text and "\n  made  test_bad_input.py:" in text


def test_the_line_of_a_node_that_can_not_be():
    with pytest.raises(INVALID) as caught:
        tf.matmul(tf.zeros([2, 784]), tf.zeros([100, 10]), name="logits")  # this line
    names_the_line(str(caught.value), "logits", "# this line")


# -- fetches and feeds ---------------------------------------------------------------------------
def other_tensor():
    with tf.Graph().as_default():
        return tf.placeholder(tf.float32, name="elsewhere")


@pytest.mark.parametrize(
    "fetch, error, message",
    [
        (None, TypeError, "Fetch argument None has invalid type"),
        (3, TypeError, "must be a string or Tensor"),
        ([["no such"]], ValueError, "'no such' refers to an Operation not in the graph"),
        ("x:7", ValueError, "has 1 outputs"),
        ({"a": object()}, TypeError, "has invalid type"),
        (other_tensor(), ValueError, "is not an element of this graph"),
    ],
)
def test_fetches(fetch, error, message):
    x = tf.placeholder_with_default([1.0], [1], name="x")
    with tf.Session() as session:
        refused(lambda: session.run(fetch), error, message)
        assert session.run(x) == [1]


@pytest.mark.parametrize(
    "value, error, message",
    [
        ([1, 2, 3], ValueError, "Cannot feed value of shape .3,. for Tensor 'x:0'"),
        (None, TypeError, "Cannot feed a NoneType for Tensor 'x:0' of type int32"),
        (["a", "b"], ValueError, "Cannot feed a list for Tensor 'x:0' of type int32: invalid"),
        ([[1], [2, 3]], ValueError, "inhomogeneous"),
        ({"a": 1}, TypeError, "Cannot feed a dict"),
        (object(), TypeError, "Cannot feed a object"),
        ([1 << 40, 1], TypeError, "is not compatible with Tensor type .*int32"),
        ([1 << 70, 1], TypeError, "is not compatible with Tensor type"),
    ],
)
def test_feeds(value, error, message):
    x = tf.placeholder(tf.int32, [2], name="x")  # fed
    y = x + 1
    with tf.Session() as session:
        names_the_line(refused(lambda: session.run(y, {x: value}), error, message), "x", "# fed")
        np.testing.assert_array_equal(session.run(y, {x: [1, 2]}), [2, 3])
        refused(lambda: session.run(y, {x: value}), error, message)  # now a known signature
        np.testing.assert_array_equal(session.run(y, {x: [1, 2]}), [2, 3])


@pytest.mark.parametrize(
    "feeds, error, message",
    [
        ({"nothing:0": 1}, TypeError, "Cannot interpret feed_dict key as Tensor"),
        ({"x": 1}, TypeError, "refers to an Operation, not a Tensor"),
        ({3: 1}, TypeError, "Can not convert a int into a Tensor"),
        ({other_tensor(): 1}, TypeError, "is not an element of this graph"),
        ([1, 2], TypeError, "feed_dict must be a dictionary"),
        ({("x:0", "y:0"): [1]}, ValueError, "Could not flatten dictionary"),
    ],
)
def test_keys_of_feeds(feeds, error, message):
    x = tf.placeholder(tf.float32, [], name="x")
    y = tf.placeholder(tf.float32, [], name="y")
    with tf.Session() as session:
        refused(lambda: session.run(x + y, feeds), error, message)
        assert session.run(x + y, {"x:0": 1, y: 2}) == 3


def test_a_tensor_as_a_value():
    x = tf.placeholder(tf.float32, [])
    with tf.Session() as session:
        refused(lambda: session.run(x, {x: tf.ones([])}), TypeError, "cannot be a tf.Tensor object")


def test_unfed():
    x = tf.placeholder(tf.float32, [None, 3], name="x")  # not fed
    with tf.Session() as session:
        text = refused(
            lambda: session.run(tf.exp(x)),
            INVALID,
            r"must feed a value for placeholder tensor 'x' with dtype float and shape \[\?,3\]",
        )
        names_the_line(text, "x", "# not fed")


# -- state ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("by_handle", [False, True])
def test_uninitialised(by_handle):
    v = tf.Variable([1.0, 2.0], name="v", use_resource=by_handle)
    add = v.assign_add([1.0, 1.0])
    with tf.Session() as session:
        for what in (v, v + 1, add):
            missing = by_handle and what is add
            kind = tf.errors.NotFoundError if missing else tf.errors.FailedPreconditionError
            text = refused(lambda what=what: session.run(what), kind, "v")
            assert "uninitialized" in text and "\n  made  test_bad_input.py:" in text
        session.run(v.initializer)
        np.testing.assert_array_equal(session.run(v), [1, 2])


def test_a_step_that_fails_leaves_its_variables():
    v = tf.Variable([1.0, 2.0])
    index = tf.placeholder(tf.int32, [None])
    update = tf.scatter_update(v, index, tf.fill(tf.shape(index), 9.0))
    with tf.Session() as session:
        session.run(v.initializer)
        refused(lambda: session.run(update, {index: [0, 7]}), INVALID, "is not in .0, 2.")
        np.testing.assert_array_equal(session.run(v), [1, 2])
        session.run(update, {index: [1]})
        np.testing.assert_array_equal(session.run(v), [1, 9])


def test_closed_and_empty_sessions():
    with tf.Graph().as_default():
        refused(lambda: tf.Session().run([]), RuntimeError, "The Session graph is empty")
    c = tf.constant(1)
    session = tf.Session()
    assert session.run(c) == 1
    session.close()
    session.close()
    for call in (
        lambda: session.run(c),
        lambda: session.make_callable(c),
        lambda: session.partial_run_setup(c),
    ):
        refused(call, RuntimeError, "Attempted to use a closed Session")


def test_options_of_another_type():
    with tf.Session() as session:
        refused(lambda: session.run(tf.constant(1), options=3), TypeError, "tf.RunOptions")


# -- indices -------------------------------------------------------------------------------------
def nan_as_index():
    return tf.cast(tf.placeholder_with_default([NAN], [1]), tf.int32)


@pytest.mark.parametrize(
    "build, message",
    [
        (lambda: tf.gather([1.0, 2.0], nan_as_index()), r"indices\[0\] = -2147483648 is not in"),
        (lambda: tf.segment_sum([1.0], nan_as_index()), "must be >= 0"),
        (lambda: tf.scatter_nd(nan_as_index()[:, None], [1.0], [2]), "does not index into shape"),
        (lambda: tf.dynamic_partition([1.0], nan_as_index(), 2), "is not in .0, 2."),
        (lambda: tf.gather_nd([1.0, 2.0], nan_as_index()[:, None]), "does not index into"),
        (lambda: tf.nn.embedding_lookup(tf.zeros([3, 2]), nan_as_index()), "is not in .0, 3."),
        (lambda: tf.zeros([3])[nan_as_index()[0]], "out of bounds"),
        (
            lambda: tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels=nan_as_index(), logits=tf.zeros([1, 3])
            ),
            "outside the valid range",
        ),
    ],
)
def test_nan_in_an_index(build, message):
    """It is the least integer: outside of everything."""
    result = build()
    with tf.Session() as session:
        text = refused(lambda: session.run(result), INVALID, message)
        assert "\n  node  " in text and "\n  made  test_bad_input.py:" in text


@pytest.mark.parametrize("operation", [lambda x, y: x // y, lambda x, y: x % y, tf.truncatediv])
def test_integers_by_zero(operation):
    y = tf.placeholder(tf.int32, [])
    z = operation(tf.constant(-(2**31)), y)
    with tf.Session() as session:
        refused(lambda: session.run(z, {y: 0}), INVALID, "Integer division by zero")
        assert session.run(z, {y: -1}) in (-(2**31), 0), "what overflows wraps around"


# -- nothing -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "build, wanted",
    [
        (lambda: tf.matmul(tf.zeros([0, 3]), tf.zeros([3, 2])), np.zeros((0, 2))),
        (lambda: tf.matmul(tf.zeros([2, 0]), tf.zeros([0, 2])), np.zeros((2, 2))),
        (lambda: tf.reduce_max(tf.zeros([0])), -np.inf),
        (lambda: tf.reduce_mean(tf.zeros([0])), np.nan),
        (lambda: tf.reduce_prod(tf.zeros([0])), 1),
        (lambda: tf.nn.softmax(tf.zeros([0, 3])), np.zeros((0, 3))),
        (lambda: tf.concat([tf.zeros([0]), tf.ones([2]), tf.zeros([0])], 0), np.ones(2)),
        (lambda: tf.sort(tf.zeros([0])), np.zeros(0)),
        (lambda: tf.gather(tf.zeros([0, 2]), tf.zeros([0], tf.int32)), np.zeros((0, 2))),
        (lambda: tf.matrix_inverse(tf.zeros([0, 0])), np.zeros((0, 0))),
        (
            lambda: tf.nn.conv2d(tf.zeros([0, 4, 4, 1]), tf.ones([3, 3, 1, 2]), [1] * 4, "SAME"),
            np.zeros((0, 4, 4, 2)),
        ),
        (lambda: tf.random_shuffle(tf.zeros([0])), np.zeros(0)),
        (lambda: tf.boolean_mask([1.0, 2.0], [False, False]), np.zeros(0)),
    ],
)
def test_empty_tensors(build, wanted):
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(build()), wanted)


@pytest.mark.parametrize("known", [True, False])
def test_the_largest_of_nothing(known):
    x = tf.zeros([2, 0]) if known else tf.placeholder_with_default(np.zeros((2, 0)), [None, None])
    with tf.Session() as session:
        refused(lambda: session.run(tf.argmax(x, 1)), INVALID, "Reduction axis 1 is empty")


either = pytest.mark.parametrize("compiled", ["0", "always"])


# -- sizes ---------------------------------------------------------------------------------------
def fed(shape):
    return tf.placeholder_with_default(np.array(shape, np.int64), [len(shape)])


@pytest.mark.parametrize(
    "build",
    [
        lambda s: tf.fill(s, 1.0),
        lambda s: tf.zeros(s),
        lambda s: tf.tile(tf.ones([1, 1]), s),
        lambda s: tf.broadcast_to(tf.ones([1, 1]), s),
        lambda s: tf.random_uniform(s),
        lambda s: tf.truncated_normal(s),
        lambda s: tf.random.stateless_uniform(s, [1, 2]),
        lambda s: tf.reshape(tf.zeros([6]), s),
        lambda s: tf.scatter_nd(tf.zeros([1, 2], tf.int64), [1.0], s),
        lambda s: tf.sparse_to_dense(tf.zeros([1, 2], tf.int64), s, 1.0),
    ],
)
@pytest.mark.parametrize("shape", [(HUGE, HUGE), (1 << 32, 1 << 32), (-5, 2)], ids=repr)
@either
def test_sizes_whose_product_overflows(monkeypatch, compiled, build, shape):
    """Refused before anything is allocated: also where the product is 0 in 64 bits."""
    monkeypatch.setenv("HEADRACE_COMPILE", compiled)
    result = build(fed(shape))
    with tf.Session() as session:
        text = refused(lambda: session.run(result), INVALID)
        assert "\n  made  test_bad_input.py:" in text


@pytest.mark.parametrize(
    "build",
    [
        lambda: tf.fill(fed([1 << 46]), 1.0),
        lambda: tf.fill([8 * 10**18], 1.0),
        lambda: tf.fill(fed([8 * 10**18]), 1.0),
        lambda: tf.fill(fed([8 * 10**18]), "a"),
        lambda: tf.zeros(fed([1 << 61])),
        lambda: tf.one_hot(fed([1] * 1000), 2**31 - 1, dtype=tf.float64),
        lambda: tf.broadcast_to(1.0, fed([1 << 31, 1 << 31])),
        lambda: tf.random_uniform(fed([1 << 62])),
        lambda: tf.scatter_nd(fed([0])[None], [1.0], fed([1 << 62])),
        lambda: tf.sparse_to_dense(fed([0]), fed([1 << 61]), 1.0),
        lambda: tf.tile(tf.ones([2]), fed([1 << 61])),
        lambda: tf.pad(tf.ones([2]), fed([1 << 61, 0])[None]),
        lambda: tf.range(tf.placeholder_with_default(np.int64(1 << 60), [])),
        lambda: tf.linspace(0.0, 1.0, tf.placeholder_with_default(np.int64(1 << 60), [])),
        lambda: tf.tile(tf.ones([2]), fed([1 << 46])),
        lambda: tf.pad(tf.ones([2]), fed([1 << 46, 0])[None]),
        lambda: tf.random_normal(fed([1 << 46])),
        lambda: tf.eye(1 << 24),
        lambda: tf.matrix_diag(tf.ones([1 << 25])),
        lambda: tf.unsorted_segment_sum([1.0], [0], tf.placeholder_with_default(np.int64(1 << 46), [])),
        lambda: tf.sequence_mask([1 << 50]),
    ],
)
@either
def test_sizes_that_no_memory_holds(monkeypatch, compiled, build):
    """Also where the bytes, or the size itself, do not fit into 64 or 32 bits."""
    monkeypatch.setenv("HEADRACE_COMPILE", compiled)
    with tf.Session() as session:
        text = refused(lambda: session.run(build()), EXHAUSTED)
        assert "\n  node  " in text
        assert session.run(tf.constant(1)) == 1


def test_results_that_no_memory_holds():
    x = tf.placeholder(tf.float32, [None, 1])
    product = tf.matmul(x, x, transpose_b=True)
    outer = x + tf.transpose(x)
    with tf.Session() as session:
        for result in (product, outer):
            large = np.zeros((1 << 23, 1), np.float32)
            refused(lambda r=result: session.run(r, {x: large}), EXHAUSTED)
            assert session.run(result, {x: [[1]]}).shape == (1, 1)


def test_constants_that_no_memory_holds():
    refused(lambda: tf.constant(1.0, shape=[1 << 46]), EXHAUSTED, "OOM when allocating")
    refused(lambda: tf.constant(1.0, shape=[1 << 40] * 2), INVALID, "more than 2..63 - 1 elements")


def test_shapes_larger_than_memory_are_only_shapes():
    x = tf.placeholder(tf.float32, [1 << 40, 1 << 40])
    assert tf.reshape(x, [-1]).shape == [1 << 80]
    assert tf.shape(x).shape == [2], "its value is not known: it does not fit"


# -- graphs from elsewhere -----------------------------------------------------------------------
FLOAT = 'attr { key: "T" value { type: DT_FLOAT } }'
A = 'node { name: "a" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }'


def message(*nodes):
    text = " ".join(nodes) + " versions { producer: 134 }"
    return text_format.Parse(text, tf.GraphDef())


def constant(tensor):
    return (
        'node { name: "c" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } } '
        f'attr {{ key: "value" value {{ tensor {{ {tensor} }} }} }} }}'
    )


@pytest.mark.parametrize(
    "nodes, error, text",
    [
        (['node { name: "a" op: "NoSuchOp" }'], tf.errors.NotFoundError, "not registered 'NoSuch"),
        (['node { name: "a" op: "Const" }'], ValueError, "missing attrs 'value', 'dtype'"),
        ([A.replace("type: DT_FLOAT", "i: 3")], ValueError, "type 'int' when 'type' expected"),
        ([A.replace("DT_FLOAT", "99")], ValueError, "99"),
        ([f'node {{ name: "b" op: "Exp" input: "a" {FLOAT} }}'], ValueError, "Unknown input node"),
        ([A, f'node {{ name: "b" op: "AddV2" input: "a" {FLOAT} }}'], ValueError, "1 inputs spec"),
        ([A, f'node {{ name: "b" op: "Exp" input: "a:3" {FLOAT} }}'], ValueError, "output 3 of"),
        ([A, A], ValueError, "is not unique"),
        ([f'node {{ name: "b" op: "Exp" input: "b" {FLOAT} }}'], ValueError, "1 nodes in a cycle"),
        (['node { name: "a b" op: "NoOp" }'], ValueError, "invalid characters"),
        (['node { name: "a" op: "NoOp" input: "^z" }'], ValueError, "Unknown input node"),
        ([A, 'node { name: "b" op: "NoOp" device: "/no:such" }'], ValueError, "Unknown attribute"),
        (
            [
                A,
                'node { name: "b" op: "AddN" input: "a" attr { key: "N" value { i: 1000000000 } } '
                + FLOAT
                + " }",
            ],
            ValueError,
            "too large",
        ),
        ([constant("dtype: DT_FLOAT tensor_shape { dim { size: -5 } }")], ValueError, "negative"),
        (
            [
                constant(
                    "dtype: DT_FLOAT tensor_shape { dim { size: 1000000000000 } dim { size: 1000000000000 } }"
                )
            ],
            ValueError,
            "overflows",
        ),
        (
            [constant("dtype: DT_FLOAT tensor_shape { dim { size: 100000000000000 } } float_val: 1")],
            ValueError,
            "too large",
        ),
        (
            [constant('dtype: DT_FLOAT tensor_shape { dim { size: 5 } } tensor_content: "abc"')],
            ValueError,
            "3 bytes of content for 5 values",
        ),
        ([constant("dtype: DT_INT32 tensor_shape { } int_val: 1")], ValueError, "Type mismatch"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_graph_defs(graph, nodes, error, text):
    """Data, not programs: refused as a whole, and nothing of it stays."""
    refused(lambda: tf.import_graph_def(message(*nodes), name=""), error, text)
    assert graph.get_operations() == []
    assert tf.no_op(name="a").name == "a", "not even the name"


def test_a_graph_def_from_the_future():
    later = text_format.Parse("versions { producer: 999 min_consumer: 999 }", tf.GraphDef())
    refused(lambda: tf.import_graph_def(later), ValueError, "min consumer version 999")
    refused(lambda: tf.import_graph_def("text"), TypeError, "must be a GraphDef")
