"""Running one piece: which item may run now, values that cross borders, state that stays."""
