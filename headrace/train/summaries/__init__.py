"""Event files and their writers."""
