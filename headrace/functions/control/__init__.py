"""Loops, branches, mapped functions, tensor arrays, groups."""
