"""MetaGraphs in and out."""
