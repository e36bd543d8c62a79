"""Public names of the family: distributed."""

NAMES: dict[str, str] = {
    "headrace.distributed.cluster": "train.ClusterSpec",
    "headrace.distributed.replica_devices": (
        "train.replica_device_setter contrib.training.GreedyLoadBalancingStrategy "
        "contrib.training.RandomStrategy contrib.training.byte_size_load_fn"
    ),
    "headrace.distributed.server": "{train.,distribute.}Server",
}
