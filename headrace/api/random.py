"""Public names of the family: random."""

NAMES: dict[str, str] = {}
