"""First centres of clusters, where rounding leaves nothing to choose by."""

from __future__ import annotations

import numpy as np

import headrace as tf

CLOSE = [  # together, and far from the origin
    [1.3691732, -4.977889, -11.402671],
    [1.3691305, -4.9782977, -11.402538],
    [1.3690381, -4.978653, -11.402136],
    [1.3685976, -4.977789, -11.402306],
]


def _first(points, seed):
    return tf.raw_ops.KmeansPlusPlusInitialization(
        points=points, num_to_sample=4, seed=seed, num_retries_per_sample=2
    )


def test_distances_that_rounding_makes_nothing_of():
    points = np.array(CLOSE, np.float32)
    for seed in range(10):
        with tf.Graph().as_default(), tf.Session() as session:
            found = session.run(_first(points, seed))
        assert {tuple(row) for row in found} <= {tuple(row) for row in points}
        assert len({tuple(row) for row in found}) > 1
