"""tf.strings, printing, decoding."""
