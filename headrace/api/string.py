"""Public names of the family: string."""

NAMES: dict[str, str] = {}
