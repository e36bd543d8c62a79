"""Eager mode: ops that run when they are called."""
