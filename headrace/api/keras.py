"""Public names of the family: keras."""

NAMES: dict[str, str] = {}
