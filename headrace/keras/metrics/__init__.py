"""Metrics: what is accumulated over the batches of an epoch."""
