"""Queues, readers, staging areas, accumulators as objects."""
