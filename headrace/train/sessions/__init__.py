"""Sessions that initialise, restore, call hooks and recover; the loops around them."""
