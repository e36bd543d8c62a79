"""Public names of the family: math."""

NAMES: dict[str, str] = {}
