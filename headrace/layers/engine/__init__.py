"""What every layer is made of: weights, calls, connections, names."""
