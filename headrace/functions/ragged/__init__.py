"""tf.ragged."""
