"""tf.contrib.rnn: cells as single ops, whole sequences as single ops, and cells around cells."""
