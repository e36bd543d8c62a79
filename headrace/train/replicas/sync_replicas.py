"""SyncReplicasOptimizer: gradients of several replicas become one update.

Each replica adds its gradients to accumulators beside the variables, with the step that it computed them at
(`local_step`), and waits for a token.  A queue runner of the chief takes the mean when enough have come,
updates the variables and hands out tokens, which say the number of the next step.  A gradient of an older
step is dropped where it arrives.  So an update has the gradients of one step, each once; with more replicas
than are asked for, those that come too late are backups.
"""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes, log
from headrace.functions.array.array import fill
from headrace.functions.control.grouping import group
from headrace.functions.queues.accumulator import ConditionalAccumulator, SparseConditionalAccumulator
from headrace.functions.queues.queue import FIFOQueue
from headrace.functions.values.structure import name_scope
from headrace.graph.defaults import get_default_graph
from headrace.graph.keys import GraphKeys
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.array.source import no_op
from headrace.ops.declaration.indexed_slices import IndexedSlices
from headrace.train.hooks.run_hook import SessionRunHook
from headrace.train.input_queues.queue_runners import QueueRunner
from headrace.train.optimizers.base import Optimizer
from headrace.train.sessions.session_manager import is_ready
from headrace.variables.listing import global_variables, report_uninitialized_variables
from headrace.variables.update import assign
from headrace.variables.variable import Variable


class SyncReplicasOptimizer(Optimizer):
    """Lets an optimizer update with the mean of several replicas' gradients, all of one step.

    Example:
      >>> opt = tf.train.SyncReplicasOptimizer(
      ...     tf.train.GradientDescentOptimizer(0.1), replicas_to_aggregate=4, total_num_replicas=5
      ... )
      >>> train = opt.minimize(loss, global_step=tf.train.get_or_create_global_step())
      >>> hooks = [opt.make_session_run_hook(is_chief)]
    """

    def __init__(
        self,
        opt: Optimizer,
        replicas_to_aggregate: int,
        total_num_replicas: int | None = None,
        variable_averages: Any = None,
        variables_to_average: Any = None,
        use_locking: bool = False,
        name: str = "sync_replicas",
    ) -> None:
        """Args:
        opt: makes the update.
        replicas_to_aggregate: how many gradients an update has.
        total_num_replicas: how many replicas there are; those beyond are backups.
        variable_averages: an ExponentialMovingAverage, applied after every update
        variables_to_average: to these variables.
        use_locking: kept for compatibility; updates are always atomic here.
        name: name of the scope.
        """
        if total_num_replicas is None:
            total_num_replicas = replicas_to_aggregate
        super().__init__(use_locking, name)
        log.info(
            "SyncReplicasV2: replicas_to_aggregate=%s; total_num_replicas=%s",
            replicas_to_aggregate,
            total_num_replicas,
        )
        self._opt = opt
        self._replicas_to_aggregate, self._total_num_replicas = replicas_to_aggregate, total_num_replicas
        self._tokens_per_step = max(total_num_replicas, replicas_to_aggregate)
        self._variable_averages, self._variables_to_average = variable_averages, variables_to_average
        self._gradients_applied = False
        self._global_step: Any = None
        self._sync_token_queue: Any = None
        self._chief_queue_runner: QueueRunner | None = None
        self._accumulator_list: list[tuple[Any, str]] = []

    def compute_gradients(self, *args: Any, **kwargs: Any) -> list[tuple[Any, Any]]:
        """As that of the optimizer inside.

        Args: those of `Optimizer.compute_gradients`.
        """
        return self._opt.compute_gradients(*args, **kwargs)

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Any:
        """A node that hands in a replica's gradients and waits until the next step may begin.

        Args:
          grads_and_vars: pairs as `compute_gradients` returns them.
          global_step: the variable that counts updates.
          name: not used.

        Raises:
          ValueError: there are no variables, or there is no global step.
        """
        pairs = list(grads_and_vars or ())
        if not pairs:
            raise ValueError("Must supply at least one variable")
        if global_step is None:
            raise ValueError("Global step is required to check staleness")
        self._global_step = global_step
        graph = get_default_graph()
        # On the replica's own device, though a device function would put it on a parameter server.
        with graph.colocate_with(no_op()):
            self._local_step = Variable(
                0,
                trainable=False,
                collections=[GraphKeys.LOCAL_VARIABLES],
                dtype=global_step.dtype.base_dtype,
                name="sync_rep_local_step",
            )
        self.local_step_init_op = assign(self._local_step, global_step)
        self.ready_for_local_init_op = report_uninitialized_variables(global_variables())
        with name_scope(None, self._name):
            handed_in, means = self._accumulated(pairs)
            with graph.device(global_step.device), graph.name_scope(None):
                update = self._opt.apply_gradients(means, global_step)
                done = self._with_tokens(handed_in, update)
            first = [self.local_step_init_op]
            for accumulator, device in self._accumulator_list:
                with graph.device(device):
                    first.append(accumulator.set_global_step(global_step, name="SetGlobalStep"))
            self.chief_init_op = group(*first)
        self._gradients_applied = True
        return done

    def _accumulated(self, pairs: list[tuple[Any, Any]]) -> tuple[list[Any], list[tuple[Any, Any]]]:
        """Nodes that hand in the gradients, and (mean, variable) pairs."""
        handed_in: list[Any] = []
        means: list[tuple[Any, Any]] = []
        for gradient, variable in pairs:
            if gradient is None:
                means.append((None, variable))
                continue
            with get_default_graph().device(variable.device):
                accumulator: Any
                shared = f"{variable.name}/grad_accum"
                if isinstance(gradient, Tensor):
                    shape = variable.get_shape()
                    accumulator = ConditionalAccumulator(gradient.dtype, shape=shape, shared_name=shared)
                    handed_in.append(accumulator.apply_grad(gradient, local_step=self._local_step))
                    mean = accumulator.take_grad(self._replicas_to_aggregate)
                elif isinstance(gradient, IndexedSlices):
                    accumulator = SparseConditionalAccumulator(gradient.dtype, shape=(), shared_name=shared)
                    step = self._local_step
                    handed_in.append(accumulator.apply_indexed_slices_grad(gradient, local_step=step))
                    mean = accumulator.take_indexed_slices_grad(self._replicas_to_aggregate)
                else:
                    raise ValueError("Unknown grad type!")
                means.append((mean, variable))
                self._accumulator_list.append((accumulator, variable.device))
        return handed_in, means

    def _with_tokens(self, handed_in: list[Any], update: Any) -> Any:
        """The replica's node, which waits for a token; and the chief's, which makes tokens."""
        graph, step = get_default_graph(), self._global_step
        dtype = step.dtype.base_dtype
        queue = FIFOQueue(-1, dtype, shapes=(), name="sync_token_q", shared_name="sync_token_q")
        self._sync_token_queue = queue
        dummy = FIFOQueue(1, dtypes.int32, shapes=(), name="dummy_queue", shared_name="dummy_queue")
        with graph.control_dependencies(handed_in):
            token = queue.dequeue()
        done = assign(self._local_step, token)
        with graph.control_dependencies([update]):
            synced = queue.enqueue_many((fill([self._tokens_per_step], step),))
        if self._variable_averages is not None:
            with graph.control_dependencies([synced]), graph.name_scope(None):
                synced = self._variable_averages.apply(self._variables_to_average)
        self._chief_queue_runner = QueueRunner(dummy, [synced])
        return done

    # -- the chief -----------------------------------------------------------------------------
    def get_chief_queue_runner(self) -> QueueRunner:
        """What updates the variables: the chief starts it."""
        self._check_applied("Should be called after apply_gradients().")
        runner: Any = self._chief_queue_runner
        return runner  # type: ignore[no-any-return]

    def get_init_tokens_op(self, num_tokens: int = -1) -> Node:
        """A node that puts the first tokens into the queue: the chief runs it before training.

        Args:
          num_tokens: how many; `replicas_to_aggregate` if -1.

        Raises:
          ValueError: that is too few for the first step.
        """
        self._check_applied("get_init_tokens_op() should be called after apply_gradients().")
        needed = self._replicas_to_aggregate - self._total_num_replicas
        if num_tokens == -1:
            num_tokens = self._replicas_to_aggregate
        elif num_tokens < needed:
            raise ValueError(
                f"Too few tokens to finish the first step: {num_tokens} (given) vs {needed} (needed)"
            )
        if num_tokens <= 0:
            nothing: Node = no_op(name="no_init_tokens")
            return nothing
        return self._tokens(num_tokens)

    def _tokens(self, count: int) -> Node:
        graph = get_default_graph()
        with graph.device(self._global_step.device), graph.name_scope(None):
            node: Node = self._sync_token_queue.enqueue_many((fill([count], self._global_step),))
            return node

    def make_session_run_hook(self, is_chief: bool, num_tokens: int = -1) -> SyncReplicasOptimizerHook:
        """The hook that every replica needs.

        Args:
          is_chief: whether this is the chief.
          num_tokens: see `get_init_tokens_op`.
        """
        return SyncReplicasOptimizerHook(self, is_chief, num_tokens)

    def _check_applied(self, message: str) -> None:
        if not self._gradients_applied:
            raise ValueError(message)

    # -- the optimizer inside ------------------------------------------------------------------
    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        """As that of the optimizer inside."""
        return self._opt.get_slot(*args, **kwargs)

    def variables(self) -> list[Any]:
        """As that of the optimizer inside."""
        return self._opt.variables()

    def get_slot_names(self, *args: Any, **kwargs: Any) -> list[str]:
        """As that of the optimizer inside."""
        return self._opt.get_slot_names(*args, **kwargs)


class SyncReplicasOptimizerHook(SessionRunHook):
    """Brings accumulators and tokens in order for every new session; the chief's starts the updates."""

    def __init__(self, sync_optimizer: SyncReplicasOptimizer, is_chief: bool, num_tokens: int) -> None:
        self._sync_optimizer, self._is_chief, self._num_tokens = sync_optimizer, is_chief, num_tokens

    def begin(self) -> None:
        opt = self._sync_optimizer
        opt._check_applied("SyncReplicasOptimizer.apply_gradient should be called before using the hook.")
        self._ready_for_local_init_op = opt.ready_for_local_init_op
        self._local_init_op = opt.local_step_init_op
        self._q_runner: QueueRunner | None = None
        self._init_tokens_op: Any = None
        self._last_tokens_op: Any = None
        if self._is_chief:
            self._local_init_op = opt.chief_init_op
            self._q_runner = opt.get_chief_queue_runner()
            self._init_tokens_op = opt.get_init_tokens_op(self._num_tokens)
            self._last_tokens_op = opt._tokens(opt._tokens_per_step)

    def after_create_session(self, session: Any, coord: Any) -> None:
        ready, message = is_ready(
            self._ready_for_local_init_op, session, "Model is not ready for SyncReplicasOptimizer local init."
        )
        if not ready:
            raise RuntimeError(
                "Init operations did not make model ready for SyncReplicasOptimizer local_init. "
                f"Init op: {self._local_init_op.name}, error: {message}"
            )
        session.run(self._local_init_op)
        if self._init_tokens_op is not None:
            session.run(self._init_tokens_op)
        if self._q_runner is not None:
            self._q_runner.create_threads(session, coord=coord, daemon=True, start=True)

    def end(self, session: Any) -> None:
        """Nobody updates when the chief has gone: replicas that wait for its tokens get the last ones."""
        if self._last_tokens_op is not None:
            session.run(self._last_tokens_op)
