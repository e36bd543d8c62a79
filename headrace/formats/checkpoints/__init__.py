"""Checkpoints as bytes: tables, bundles, slices."""
