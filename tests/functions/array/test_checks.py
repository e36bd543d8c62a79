"""Assertions: refused while building where the values are known, else when they run."""

import pytest

import headrace as tf

pytestmark = pytest.mark.pure


@pytest.fixture(autouse=True)
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def test_known_values_are_refused_at_once():
    with pytest.raises(tf.errors.InvalidArgumentError, match="small\nCondition x < y did not hold"):
        tf.debugging.assert_less(tf.constant([1, 5]), tf.constant(3), message="small")


def test_unknown_values_are_refused_when_they_run(session):
    x = tf.placeholder(tf.int32)
    check = tf.debugging.assert_equal(x, 3, message="three")
    session.run(check, {x: [3, 3]})
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"assertion failed: \[three\]"):
        session.run(check, {x: [3, 4]})


def test_dependents_wait(session):
    x = tf.placeholder(tf.float32)
    with tf.control_dependencies([tf.debugging.assert_positive(x)]):
        y = tf.sqrt(x)
    assert session.run(y, {x: 4.0}) == 2.0
    with pytest.raises(tf.errors.InvalidArgumentError, match="x > 0 did not hold"):
        session.run(y, {x: -4.0})


def test_nothing_is_everything():
    tf.debugging.assert_less(tf.constant([], tf.int32), tf.constant(0))


def test_ranks(session):
    with pytest.raises(ValueError, match="must have rank 1.  Received rank 2"):
        tf.debugging.assert_rank(tf.ones([2, 2]), 1)
    x = tf.placeholder(tf.float32)
    check = tf.debugging.assert_rank_in(x, [1, 3])
    session.run(check, {x: [1.0]})
    with pytest.raises(tf.errors.InvalidArgumentError, match="must have rank in"):
        session.run(check, {x: 1.0})


def test_shapes_that_belong_together(session):
    x, y = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32)
    check = tf.debugging.assert_shapes([(x, ("N", "D")), (y, ("N",))])
    session.run(check, {x: [[1, 2, 3]] * 4, y: [1, 2, 3, 4]})
    with pytest.raises(tf.errors.InvalidArgumentError, match="must have size"):
        session.run(check, {x: [[1, 2, 3]] * 4, y: [1, 2]})
    with pytest.raises(ValueError, match="dimension 1 must have size 2.  Received size 3"):
        tf.debugging.assert_shapes({x: (None, 2)})


def test_types():
    with pytest.raises(TypeError, match="must be of type"):
        tf.debugging.assert_type(tf.constant(1.0), tf.int32)
    with pytest.raises(TypeError, match="to be integer type"):
        tf.debugging.assert_integer(tf.constant(1.0))
    with pytest.raises(ValueError, match="must be of the same type"):
        tf.debugging.assert_same_float_dtype([tf.constant(1.0), tf.constant(1.0, tf.float64)])


@pytest.mark.parametrize(
    "values, rises, falls_never",
    [
        ([], True, True),
        ([1], True, True),
        ([1, 2], True, True),
        ([1, 1], False, True),
        ([2, 1], False, False),
        ([[1, 2], [3, 3]], False, True),
    ],
)
def test_order(session, values, rises, falls_never):
    x = tf.constant(values, tf.float32)
    found = session.run([tf.math.is_strictly_increasing(x), tf.math.is_non_decreasing(x)])
    assert [bool(f) for f in found] == [rises, falls_never]


def test_not_a_number(session):
    x = tf.placeholder(tf.float32)
    for check in (tf.check_numerics(x, "mine"), tf.debugging.assert_all_finite(x, "mine")):
        session.run(check, {x: 1.0})
        with pytest.raises(tf.errors.InvalidArgumentError, match="mine : Tensor had Inf and NaN"):
            session.run(check, {x: [float("nan"), float("inf")]})
