"""Public names of the family: nn."""

NAMES: dict[str, str] = {}
