"""Functions of a layer's output, by name."""
