"""Optimizers, their schedules, and the older ones."""
