"""Public names of the family: session."""

NAMES: dict[str, str] = {}
