"""Diagonals and bands of matrices."""
