"""Public names of the family: image."""

NAMES: dict[str, str] = {}
