"""Who runs pieces: what a device is (`device`), and those there are: `cpu` (compiled where possible),
`reference` (NumPy alone, the oracle), `null` (computes nothing); `separate` for memory of its own."""
