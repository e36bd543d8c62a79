"""Public names of the family: platform."""

NAMES: dict[str, str] = {}
