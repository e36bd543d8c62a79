"""Who runs pieces: `cpu` (compiled where possible), `reference` (NumPy alone, the oracle)."""
