"""keras.backend: Keras' own vocabulary, over ops."""
