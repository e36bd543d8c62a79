"""Bytes on disk and wire; knows no graph."""
