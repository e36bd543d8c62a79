"""Queues, readers, staging areas, accumulators."""
