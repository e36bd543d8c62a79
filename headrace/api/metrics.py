"""Public names of the family: metrics."""

NAMES: dict[str, str] = {}
