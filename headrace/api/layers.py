"""Public names of the family: layers."""

NAMES: dict[str, str] = {}
