"""tf.contrib.testing: what was written to event files, and a writer that only notes it."""
