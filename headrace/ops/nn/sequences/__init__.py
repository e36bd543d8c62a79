"""Labels of sequences: CTC's loss, its decoders, beams."""
