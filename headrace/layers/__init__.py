"""Layers, losses, metrics and summaries: what programs build models from."""
