"""Public names of the family: saved_model."""

NAMES: dict[str, str] = {}
