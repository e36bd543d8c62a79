"""tf.sparse and rows by index."""
