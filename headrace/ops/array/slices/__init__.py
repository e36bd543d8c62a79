"""Blocks of tensors: Slice, StridedSlice, and assignment to a part."""
