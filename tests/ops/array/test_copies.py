"""Constants whose bytes stand in a file."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "region"
    file.write_bytes(bytes(range(64)))
    return str(file)


def read(path, dtype, shape):
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(tf.raw_ops.ImmutableConst(dtype=dtype, shape=shape, memory_region_name=path))


def test_numbers_and_truths(path):
    np.testing.assert_array_equal(read(path, tf.uint8, [2, 2]), [[0, 1], [2, 3]])
    found = read(path, tf.bool, [3])
    assert found.view(np.uint8).tolist() == [0, 1, 1], "any other byte would mislead compiled code"


@pytest.mark.parametrize("dtype", [tf.string, tf.resource, tf.variant])
def test_bytes_do_not_become_objects(path, dtype):
    with pytest.raises(tf.errors.UnimplementedError, match="not currently supported"):
        read(path, dtype, [2])


@pytest.mark.parametrize("shape", [None, [None], [17], [1 << 40, 1 << 40]])
def test_shapes_that_the_file_does_not_hold(path, shape):
    with pytest.raises(tf.errors.InvalidArgumentError, match="fully defined|are needed"):
        read(path, tf.float32, shape)
