"""Sparse tensors: indices, values, shape."""
