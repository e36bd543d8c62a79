"""What the new values of weights must fulfil, by name."""
