"""Kernels and calls -> steps in order, with a place for every array."""
