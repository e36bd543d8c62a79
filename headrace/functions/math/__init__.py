"""TF's functions of numbers."""
