"""Models: inputs, layers in a row or a graph, training."""
