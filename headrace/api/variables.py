"""Public names of the family: variables."""

NAMES: dict[str, str] = {}
