"""Public names of the family: distributed."""

NAMES: dict[str, str] = {}
