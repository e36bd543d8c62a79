"""Public names of the family: lookup."""

NAMES: dict[str, str] = {}
