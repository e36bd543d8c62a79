"""Convolutions in two and three dimensions, depthwise ones, and their gradients."""
