"""tf.signal."""
