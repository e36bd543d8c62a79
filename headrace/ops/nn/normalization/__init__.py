"""Normalisation: by batch, by neighbouring channels, by norm."""
