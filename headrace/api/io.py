"""Public names of the family: io."""

NAMES: dict[str, str] = {}
