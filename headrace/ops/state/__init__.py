"""Variables: reads, assignments, scatters, optimizers' updates."""
