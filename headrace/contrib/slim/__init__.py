"""tf.contrib.slim: what it adds to contrib.layers."""
