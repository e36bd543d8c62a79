"""tensorflow.python.distribute.estimator_training: estimators ask it whether strategies run them."""

from __future__ import annotations

from typing import Any


def init_run_config(config: Any, tf_config: Any) -> None:
    """No strategy runs the estimator: TF_CONFIG means parameter servers and workers."""
    if config._train_distribute or config._eval_distribute or config._experimental_distribute:
        raise NotImplementedError(
            "RunConfig: train_distribute, eval_distribute and experimental_distribute need a tf.distribute "
            "strategy with several replicas, which Headrace does not have yet; clusters with parameter "
            "servers (TF_CONFIG) work"
        )
    config._distribute_coordinator_mode = None


def should_run_distribute_coordinator(config: Any) -> bool:
    return False
