"""Reverse-mode differentiation: graph in, larger graph out."""
