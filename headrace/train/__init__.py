"""Training: optimizers, averages, decaying rates, the global step."""
