"""Ragged tensors: values and splits."""
