"""Optimizers: gradients in, one node that updates the variables out."""
