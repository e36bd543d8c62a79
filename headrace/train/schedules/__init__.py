"""Learning rates, moving averages, the count of steps."""
