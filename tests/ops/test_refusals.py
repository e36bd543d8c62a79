"""What is refused says why in the words of the op, not in those of whatever stumbled over it."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf

IMAGE, VOLUME = {"strides": [1] * 4, "padding": "SAME"}, {"strides": [1] * 5, "padding": "SAME"}
raw = tf.raw_ops


def fed(value, dtype=np.float32):
    """An array that the graph knows nothing about."""
    return tf.placeholder_with_default(np.asarray(value, dtype), None)


def ints(*values):
    return fed(values, np.int32)


CALLS = {
    "groups of Conv2D": (
        lambda: tf.nn.conv2d(fed(np.ones((1, 1, 1, 2))), fed(np.ones((1, 1, 1, 3))), **IMAGE),
        "Depth of output .3. is not a multiple of the number of groups .2.",
    ),
    "groups of Conv2DBackpropFilter": (
        lambda: raw.Conv2DBackpropFilter(
            input=fed(np.ones((1, 1, 1, 2))),
            filter_sizes=ints(1, 1, 1, 1),
            out_backprop=fed(np.ones((1, 1, 1, 1))),
            **IMAGE,
        ),
        "Depth of output .1. is not a multiple of the number of groups .2.",
    ),
    "groups of Conv3DBackpropInput": (
        lambda: raw.Conv3DBackpropInputV2(
            input_sizes=ints(1, 1, 1, 1, 2),
            filter=fed(np.ones((1, 1, 1, 1, 1))),
            out_backprop=fed(np.ones((1, 1, 1, 1, 1))),
            **VOLUME,
        ),
        "Depth of output .1. is not a multiple of the number of groups .2.",
    ),
    "an empty filter": (
        lambda: raw.Dilation2DBackpropInput(
            input=fed(np.ones((1, 3, 3, 1))),
            filter=fed(np.ones((0, 0, 1))),
            out_backprop=fed(np.ones((1, 4, 4, 1))),
            strides=[1] * 4,
            rates=[1] * 4,
            padding="VALID",
        ),
        "filter must not be empty",
    ),
    "splits of a matrix": (
        lambda: raw.RaggedTensorToTensor(
            shape=ints(2, 2),
            values=fed([1]),
            default_value=fed(0),
            row_partition_tensors=[ints([0, 1], [0, 1])],
            row_partition_types=["ROW_SPLITS"],
        ),
        "A row partition must be a vector",
    ),
    "several numbers of elements": (
        lambda: raw.TensorListReserve(
            element_shape=ints(1), num_elements=ints(1, 1), element_dtype=tf.float32
        ),
        "num_elements must be a scalar",
    ),
    "a shape that is a matrix": (
        lambda: raw.EmptyTensorList(
            element_shape=ints([1], [2]), max_num_elements=fed(1, np.int32), element_dtype=tf.float32
        ),
        "A shape must be a vector",
    ),
    "an index of nothing": (lambda: raw.StagePeek(index=ints(), dtypes=[tf.int32]), "index must be a scalar"),
    "two rates": (
        lambda: raw.AudioSummaryV2(tag="a", tensor=fed([[1]]), sample_rate=fed([1, 2])),
        "sample_rate must be a scalar",
    ),
    "a set whose shape is a scalar": (
        lambda: raw.SetSize(
            set_indices=fed(1, np.int64), set_values=fed([1], np.int64), set_shape=fed(1, np.int64)
        ),
        "Input indices should be a matrix",
    ),
    "a gradient of another size than its images": (
        lambda: raw.BatchNormWithGlobalNormalizationGrad(
            t=fed(np.ones((2, 3, 2, 1))),
            m=fed([0.5]),
            v=fed([0.5]),
            gamma=fed([0.5]),
            backprop=fed(np.ones((2, 1, 2, 1))),
            variance_epsilon=0.01,
            scale_after_normalization=True,
        ),
        "does not belong to input",
    ),
    "one list that may be missing": (
        lambda: raw.ParseSingleSequenceExample(
            serialized=fed(b"", object),
            feature_list_dense_missing_assumed_empty=fed(b"q", object),
            context_sparse_keys=[],
            context_dense_keys=[],
            feature_list_sparse_keys=[fed(b"a", object)],
            feature_list_dense_keys=[],
            context_dense_defaults=[],
            debug_name=fed(b"", object),
            feature_list_sparse_types=[tf.int64],
        ),
        "to be a vector",
    ),
    "a histogram of NaN": (lambda: tf.histogram_fixed_width(fed([np.nan]), fed([1, 2])), "must not be NaN"),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_message_is_the_ops(name):
    call, message = CALLS[name]
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match=message):
        session.run(call())


def test_attributes_are_of_64_bits():
    with pytest.raises(ValueError, match="Value out of range for argument 'ksize'"):
        raw.AvgPool(value=np.ones((1, 1, 1, 1)), ksize=[1, 1e20, 1, 1], **IMAGE)


@pytest.mark.parametrize("x, y", [(5, 5), (5, 4), (0, 4), (3, 4), (4, 5)])
@pytest.mark.parametrize("mode", ["0", "always"])
def test_gradients_of_images_with_other_ranks_are_refused(mode, x, y, monkeypatch):
    """Shapes that the graph does not know; compiled code must not trip over them."""
    monkeypatch.setenv("HEADRACE_COMPILE", mode)
    with tf.Graph().as_default(), tf.Session() as session:
        a, b = (fed(np.ones((1,) * n)) + 1.0 for n in (x, y))
        both = (
            raw.Conv2DBackpropInput(input_sizes=[1] * 4, filter=a, out_backprop=b, **IMAGE),
            raw.Conv2DBackpropFilter(input=a, filter_sizes=[1] * 4, out_backprop=b, **IMAGE),
        )
        for gradient in both:
            with pytest.raises(tf.errors.InvalidArgumentError, match="must be 4-dimensional|spatial dim"):
                session.run(gradient)
