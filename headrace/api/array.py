"""Public names of the family: array."""

NAMES: dict[str, str] = {}
