"""Public names of the family: contrib."""

NAMES: dict[str, str] = {}
