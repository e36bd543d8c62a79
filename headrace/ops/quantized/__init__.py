"""Quantised numbers."""
