"""The `headrace` command: one file per word."""
