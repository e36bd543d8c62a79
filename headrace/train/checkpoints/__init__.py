"""Savers, checkpoints of names and of objects, warm starts."""
