"""Recurrent cells and their wrappers."""
