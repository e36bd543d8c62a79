"""Keras' layers, beside those that tf.layers shares (headrace/layers/keras)."""
