"""Matrix products of our own: blocks, panels, tiles."""
