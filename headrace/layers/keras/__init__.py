"""Layers in Keras' way: each owns its variables.  tf.layers derives its classes from these."""
