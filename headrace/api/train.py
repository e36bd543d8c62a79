"""Public names of the family: train."""

NAMES: dict[str, str] = {}
