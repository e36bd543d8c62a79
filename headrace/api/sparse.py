"""Public names of the family: sparse."""

NAMES: dict[str, str] = {}
