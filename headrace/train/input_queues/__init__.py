"""Batches by queues: producers, runners, coordinators."""
