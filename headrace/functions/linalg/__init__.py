"""TF's functions of matrices."""
