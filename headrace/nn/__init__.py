"""Composites of ops: losses, normalisation, recurrent cells and loops, embeddings, operators."""
