"""Kernels and calls -> instructions in order, with a place for every array."""
