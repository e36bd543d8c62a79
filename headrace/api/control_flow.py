"""Public names of the family: control_flow."""

NAMES: dict[str, str] = {}
