"""Tables as Python objects: tf.lookup, and what tf.contrib.lookup shares with it."""
