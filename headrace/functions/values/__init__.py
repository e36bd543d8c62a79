"""What a value may be: structures, specifications, conversions."""
