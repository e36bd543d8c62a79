"""tf.nn: windows, activations, normalisation, losses."""
