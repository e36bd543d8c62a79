"""Losses that weights add, by name."""
