"""Public names of the family: distributed."""

NAMES: dict[str, str] = {
    "headrace.distributed.cluster": "train.ClusterSpec",
    "headrace.distributed.server": "{train.,distribute.}Server",
}
