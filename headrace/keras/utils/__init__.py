"""Helpers that users call: progress bars, summaries, sequences of batches."""
