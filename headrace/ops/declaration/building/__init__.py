"""Python arguments of an op -> a node of the graph."""
