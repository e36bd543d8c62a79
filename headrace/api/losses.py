"""Public names of the family: losses."""

NAMES: dict[str, str] = {}
