"""Public names of the family: signal."""

NAMES: dict[str, str] = {}
