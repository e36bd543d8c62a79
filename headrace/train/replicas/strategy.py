"""tf.distribute where nothing is distributed: the default strategy, which runs everything once.

Libraries ask for the current strategy and its replicas wherever they add up losses or write summaries; the
answers of one replica are exact.  Strategies with several are not here yet: `Strategy` has no other kind.
"""

from __future__ import annotations

import enum
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from headrace.functions.math.reduce import reduce_mean, reduce_sum
from headrace.functions.values.nest import map_structure
from headrace.graph.defaults import get_default_graph
from headrace.ops.array.source import identity


class ReduceOp(enum.Enum):
    """How the values of replicas become one."""

    SUM = "SUM"
    MEAN = "MEAN"

    @staticmethod
    def from_variable_aggregation(aggregation: Any) -> Any:
        return {"SUM": ReduceOp.SUM, "MEAN": ReduceOp.MEAN}.get(aggregation.name, aggregation)


class InputContext:
    """Which part of the input a pipeline reads."""

    def __init__(
        self, num_input_pipelines: int = 1, input_pipeline_id: int = 0, num_replicas_in_sync: int = 1
    ) -> None:
        self.num_input_pipelines = num_input_pipelines
        self.input_pipeline_id = input_pipeline_id
        self.num_replicas_in_sync = num_replicas_in_sync

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        if global_batch_size % self.num_replicas_in_sync != 0:
            raise ValueError(
                f"The `global_batch_size` {global_batch_size} is not divisible by `num_replicas_in_sync` "
                f"{self.num_replicas_in_sync} "
            )
        return global_batch_size // self.num_replicas_in_sync


class StrategyExtended:
    """What optimizers and metrics ask of a strategy."""

    def __init__(self, strategy: Strategy) -> None:
        self._strategy = strategy

    def read_var(self, v: Any) -> Any:
        """The variable's value for all replicas."""
        return identity(v)

    def reduce_to(self, reduce_op: Any, value: Any, destinations: Any) -> Any:
        return value

    def batch_reduce_to(self, reduce_op: Any, value_destination_pairs: Any) -> list[Any]:
        return [value for value, _ in value_destination_pairs]

    def broadcast_to(self, tensor: Any, destinations: Any) -> Any:
        return tensor

    def update(
        self, var: Any, fn: Callable[..., Any], args: Any = (), kwargs: Any = None, group: bool = True
    ) -> Any:
        return fn(var, *args, **(kwargs or {}))

    def update_non_slot(
        self,
        colocate_with: Any,
        fn: Callable[..., Any],
        args: Any = (),
        kwargs: Any = None,
        group: bool = True,
    ) -> Any:
        return fn(*args, **(kwargs or {}))

    def non_slot_devices(self, var_list: Any) -> Any:
        return min(var_list, key=lambda variable: variable.name)

    def variable_created_in_scope(self, v: Any) -> bool:
        return True

    def value_container(self, value: Any) -> Any:
        return value

    @contextmanager
    def colocate_vars_with(self, colocate_with_variable: Any) -> Iterator[None]:
        with get_default_graph().colocate_with(colocate_with_variable):
            yield

    def call_for_each_replica(self, fn: Callable[..., Any], args: Any = (), kwargs: Any = None) -> Any:
        return fn(*args, **(kwargs or {}))

    worker_devices = parameter_devices = ("/device:CPU:0",)
    experimental_require_static_shapes = False
    experimental_between_graph = False
    experimental_should_init = should_checkpoint = should_save_summary = True
    _num_replicas_in_sync = 1


class Strategy:
    """Everything runs once, here."""

    _scale_loss_for_estimator = False

    def __init__(self) -> None:
        self.extended = StrategyExtended(self)

    num_replicas_in_sync = 1

    @contextmanager
    def scope(self) -> Iterator[Strategy]:
        yield self

    def experimental_run_v2(self, fn: Callable[..., Any], args: Any = (), kwargs: Any = None) -> Any:
        return fn(*args, **(kwargs or {}))

    def reduce(self, reduce_op: Any, value: Any, axis: Any = None) -> Any:
        """The values of the one replica; over `axis`, their sum or mean."""
        if axis is None:
            return value
        reduction = reduce_sum if ReduceOp(reduce_op) is ReduceOp.SUM else reduce_mean
        return map_structure(lambda part: reduction(part, axis), value)

    def experimental_local_results(self, value: Any) -> tuple[Any, ...]:
        return (value,)

    unwrap = experimental_local_results

    def make_dataset_iterator(self, dataset: Any) -> Any:
        return dataset.make_initializable_iterator()

    def experimental_distribute_dataset(self, dataset: Any) -> Any:
        return dataset

    def make_input_fn_iterator(self, input_fn: Callable[[InputContext], Any]) -> Any:
        return input_fn(InputContext()).make_initializable_iterator()


class ReplicaContext:
    """Who we are among the replicas: the only one."""

    def __init__(self, strategy: Strategy, replica_id_in_sync_group: Any = 0) -> None:
        self.strategy = strategy
        self.replica_id_in_sync_group = replica_id_in_sync_group

    num_replicas_in_sync = 1
    devices = ("/device:CPU:0",)

    def __enter__(self) -> ReplicaContext:
        return self

    def __exit__(self, *exc: Any) -> None:
        pass

    def merge_call(self, merge_fn: Callable[..., Any], args: Any = (), kwargs: Any = None) -> Any:
        """Call `merge_fn` with the strategy, for all replicas together."""
        before, _state.merging = _state.merging, True
        try:
            return merge_fn(self.strategy, *args, **(kwargs or {}))
        finally:
            _state.merging = before

    def all_reduce(self, reduce_op: Any, value: Any) -> Any:
        return value


class _State(threading.local):
    merging = False


_state = _State()
_STRATEGY = Strategy()
_CONTEXT = ReplicaContext(_STRATEGY)


def get_strategy() -> Strategy:
    """The current strategy."""
    return _STRATEGY


def has_strategy() -> bool:
    """Is it another one than the default?"""
    return False


def get_replica_context() -> ReplicaContext | None:
    """The current replica; None inside of a merge_call."""
    return None if _state.merging else _CONTEXT


def in_cross_replica_context() -> bool:
    """Are we inside of a merge_call?"""
    return _state.merging


def get_loss_reduction() -> ReduceOp:
    """How losses of replicas are put together."""
    return ReduceOp.SUM


def scale_loss_for_distribution(loss_value: Any) -> Any:
    """The loss over the number of replicas."""
    return loss_value


def skip_summary() -> bool:
    """Does another replica write the summaries?"""
    return False
