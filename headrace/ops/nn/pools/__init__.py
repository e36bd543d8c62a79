"""Poolings: average, maximum, fractional; and their gradients."""
