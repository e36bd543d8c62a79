"""Public names of the family: distributions."""

NAMES: dict[str, str] = {}
