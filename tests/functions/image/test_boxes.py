"""Boxes that are kept: the three functions agree, and their nodes have TensorFlow's names."""

import numpy as np

import headrace as tf

BOXES = [[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 0.9], [0.0, 2.0, 1.0, 3.0], [0.0, 4.0, 1.0, 5.0]]
SCORES = [0.9, 0.8, 0.7, 0.1]


def test_the_best_boxes_without_much_overlap():
    kept = tf.image.non_max_suppression(BOXES, SCORES, 3, score_threshold=0.2)
    indices, scores = tf.image.non_max_suppression_with_scores(BOXES, SCORES, 3, score_threshold=0.2)
    padded, valid = tf.image.non_max_suppression_padded(
        BOXES, SCORES, 3, score_threshold=0.2, pad_to_max_output_size=True
    )
    with tf.Session() as sess:
        assert sess.run(kept).tolist() == [0, 2]
        assert sess.run(indices).tolist() == [0, 2]
        np.testing.assert_allclose(sess.run(scores), [0.9, 0.7], rtol=1e-6)
        assert sess.run(padded).tolist() == [0, 2, 0] and sess.run(valid) == 2
    inputs = [tensor.op.name.split("/")[-1] for tensor in indices.op.inputs[3:]]
    assert inputs == ["iou_threshold", "score_threshold", "soft_nms_sigma"]
