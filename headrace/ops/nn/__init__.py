"""Neural networks: activations, normalisation, windows, losses, recurrent blocks."""
