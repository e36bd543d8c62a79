"""Public names of the family: data."""

NAMES: dict[str, str] = {}
