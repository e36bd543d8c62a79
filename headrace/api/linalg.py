"""Public names of the family: linalg."""

NAMES: dict[str, str] = {}
