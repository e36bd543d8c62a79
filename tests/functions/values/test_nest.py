"""Nested structures."""

from collections import OrderedDict, namedtuple

import pytest

import headrace as tf
from headrace.functions.values import nest, nest_paths

Pair = namedtuple("Pair", "b a")


def test_dicts_flatten_in_the_order_of_their_keys():
    structure = OrderedDict([("b", [1, 2]), ("a", Pair(3, 4))])
    assert nest.flatten(structure) == [3, 4, 1, 2]
    packed = nest.pack_sequence_as(structure, [30, 40, 10, 20])
    assert list(packed.items()) == [("b", [10, 20]), ("a", Pair(30, 40))]


def test_map_keeps_the_first_structure():
    assert nest.map_structure(lambda x, y: x + y, {"a": (1, 2)}, {"a": (3, 4)}) == {"a": (4, 6)}


@pytest.mark.parametrize(
    "a, b, error, message",
    [
        ([1, [2]], [1, 2], ValueError, 'Substructure "type=list str=\\[2\\]" is a sequence'),
        ([1], (1,), TypeError, "don't have the same sequence type"),
        ({"a": 1}, {"b": 1}, ValueError, "don't have the same set of keys"),
        ([1, 2], [1], ValueError, "don't have the same number of elements"),
    ],
)
def test_differences(a, b, error, message):
    with pytest.raises(error, match=message):
        nest.assert_same_structure(a, b)


def test_a_list_is_not_packed_into_fewer_leaves():
    with pytest.raises(ValueError, match="Structure had 2 elements, but flat_sequence had 3"):
        nest.pack_sequence_as([0, 0], [1, 2, 3])


def test_composites_open_where_asked():
    with tf.Graph().as_default():
        x = tf.SparseTensor([[0]], [1.0], [2])
        slices = tf.IndexedSlices(tf.constant([1.0]), tf.constant([0]))
        assert nest.flatten([x]) == [x]
        parts = [x.indices, x.values, x.dense_shape]
        assert nest.flatten([x, slices], expand_composites=True) == [*parts, slices.values, slices.indices]
        again = nest.pack_sequence_as(x, parts, expand_composites=True)
        assert isinstance(again, tf.SparseTensor)
        nest.assert_same_structure(x, tf.SparseTensorSpec([2]), expand_composites=True)
        with pytest.raises(ValueError, match="Incompatible CompositeTensor TypeSpecs"):
            nest.assert_same_structure(x, tf.SparseTensorSpec([2], tf.int32), expand_composites=True)


def test_paths():
    found = nest_paths.flatten_with_joined_string_paths({"b": [1, 2], "a": 0})
    assert found == [("a", 0), ("b/0", 1), ("b/1", 2)]
    assert nest_paths.flatten_up_to({"a": 0}, {"a": [1, 2]}) == [[1, 2]]
