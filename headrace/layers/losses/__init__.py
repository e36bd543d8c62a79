"""tf.losses and tf.metrics' averages of losses."""
