"""Public names of the family: summary."""

NAMES: dict[str, str] = {}
