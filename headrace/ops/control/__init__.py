"""Control flow and calls: Switch and Merge, functions, tensor arrays and lists, stacks, Python functions."""
