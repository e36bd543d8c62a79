"""Public names of the family: estimator."""

NAMES: dict[str, str] = {}
