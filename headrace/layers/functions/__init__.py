"""What layers are given by name: activations, initializers, regularizers, constraints."""
