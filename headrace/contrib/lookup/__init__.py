"""tf.contrib.lookup: what it has of its own."""
