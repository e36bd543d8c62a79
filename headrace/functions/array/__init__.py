"""TF's functions of arrays: shapes, slices, stacks, checks."""
