"""Hooks: what a monitored session calls before and after every step."""
