"""Public names of the families that learn: layers, losses, metrics, optimizers."""
