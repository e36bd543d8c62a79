"""Nodes with concrete shapes -> stages: rules, loops and branches, complex numbers."""
