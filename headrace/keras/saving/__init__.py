"""Models and weights as files."""
