"""Initial values."""
