"""A NaN in a sparse gradient is not hidden."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf

pytestmark = pytest.mark.native


@pytest.mark.parametrize("mode", ["0", "always"])
@pytest.mark.parametrize("shrinkage", [0.0, 0.1])
def test_rows_keep_nan_and_whole_variables_settle_at_zero(mode, shrinkage, monkeypatch):
    """TensorFlow 1.15's two kernels: one clips, one compares with the threshold."""
    monkeypatch.setenv("HEADRACE_COMPILE", mode)
    with tf.Graph().as_default(), tf.Session() as sess:
        v, w = (tf.Variable([[1.0, 1.0]], use_resource=True) for _ in range(2))
        scale = tf.constant([[np.nan, 1.0]])
        rows = tf.gather(v, [0]) * scale
        optimizer = tf.train.FtrlOptimizer(
            0.1, l1_regularization_strength=0.1, l2_shrinkage_regularization_strength=shrinkage
        )
        step = optimizer.minimize(tf.reduce_sum(rows) + tf.reduce_sum(w * scale))
        sess.run(tf.global_variables_initializer())
        sess.run(step)
        by_row, whole = sess.run([v, w])
    assert np.isnan(by_row[0, 0]) and whole[0, 0] == 0
    np.testing.assert_allclose(by_row[0, 1], whole[0, 1], rtol=1e-6)
