"""Arrays by shape and index: constants, reshapes, slices, gathers, scatters, sorts."""
