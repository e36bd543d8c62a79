"""Public names of the family: quantized."""

NAMES: dict[str, str] = {}
