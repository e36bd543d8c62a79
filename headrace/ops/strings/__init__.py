"""Strings: bytes, numbers, regular expressions, Unicode."""
