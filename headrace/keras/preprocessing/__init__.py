"""Data before it comes to a model: sequences, text, images."""
