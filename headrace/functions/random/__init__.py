"""tf.random: distributions and seeds."""
