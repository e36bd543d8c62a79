"""Variables: the two kinds, how they are made and shared by name, what they start from."""
