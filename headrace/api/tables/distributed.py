"""Public names of the family: distributed."""

NAMES: dict[str, str] = {
    "headrace.distributed.cluster.spec": "train.ClusterSpec",
    "headrace.distributed.cluster.replica_devices": (
        "train.replica_device_setter contrib.training.GreedyLoadBalancingStrategy "
        "contrib.training.RandomStrategy contrib.training.byte_size_load_fn"
    ),
    "headrace.distributed.cluster.resolvers.resolver": (
        "{distribute.,contrib.}cluster_resolver.ClusterResolver "
        "{distribute.,contrib.}cluster_resolver.SimpleClusterResolver "
        "distribute.cluster_resolver.UnionResolver=UnionClusterResolver "
        "contrib.cluster_resolver.UnionClusterResolver"
    ),
    "headrace.distributed.cluster.resolvers.tf_config": (
        "{distribute.,contrib.}cluster_resolver.TFConfigClusterResolver"
    ),
    "headrace.distributed.cluster.resolvers.slurm": (
        "{distribute.,contrib.}cluster_resolver.SlurmClusterResolver"
    ),
    "headrace.distributed.cluster.resolvers.kubernetes": (
        "{distribute.,contrib.}cluster_resolver.KubernetesClusterResolver"
    ),
    "headrace.distributed.cluster.resolvers.google": (
        "{distribute.,contrib.}cluster_resolver.GCEClusterResolver "
        "{distribute.,contrib.}cluster_resolver.TPUClusterResolver"
    ),
    "headrace.train.replicas.strategy": (
        "distribute.InputContext distribute.ReduceOp distribute.ReplicaContext distribute.Strategy "
        "distribute.StrategyExtended distribute.get_replica_context distribute.get_strategy "
        "distribute.has_strategy distribute.in_cross_replica_context distribute.get_loss_reduction"
    ),
    "headrace.distributed.server": "{train.,distribute.}Server",
}
