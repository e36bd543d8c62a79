"""Scaffold: the nodes that a training session needs beside the model: what initialises, checks, saves it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headrace.core import log
from headrace.core.fields import reads
from headrace.functions.array.stacking import concat
from headrace.functions.control.grouping import group
from headrace.functions.io.summary import merge_all
from headrace.functions.queues.table_initializer import tables_initializer
from headrace.graph.defaults import get_default_graph
from headrace.graph.keys import GraphKeys
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.train.checkpoints.object_checkpoint import Checkpoint, frozen_saveables
from headrace.train.checkpoints.saver import Saver, saver_or_default
from headrace.variables import shared_resources as resources
from headrace.variables.listing import (
    global_variables,
    global_variables_initializer,
    local_variables_initializer,
    report_uninitialized_variables,
)


class Scaffold:
    """What a training session needs beside the model.

    What is not given is taken from its collection, or made.

    Example:
      >>> scaffold = tf.train.Scaffold(saver=tf.train.Saver(max_to_keep=20))
      >>> with tf.train.MonitoredTrainingSession(scaffold=scaffold, checkpoint_dir="/tmp/model") as sess: ...
    """

    def __init__(
        self,
        init_op: Any = None,
        init_feed_dict: Mapping[Any, Any] | None = None,
        init_fn: Callable[..., Any] | None = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        local_init_op: Any = None,
        summary_op: Any = None,
        saver: Any = None,
        copy_from_scaffold: Scaffold | None = None,
    ) -> None:
        """Args:
        init_op: initialises the model where there is no checkpoint.
        init_feed_dict: fed to it.
        init_fn: called with scaffold and session after it.
        ready_op: names of what is not initialised; the model is ready when there are none.
        ready_for_local_init_op: the same before `local_init_op`.
        local_init_op: initialises what belongs to this task alone.
        summary_op: all summaries in one.
        saver: a Saver, or a tf.train.Checkpoint.
        copy_from_scaffold: has what is not given here.
        """
        if copy_from_scaffold is not None:
            if not isinstance(copy_from_scaffold, Scaffold):
                raise TypeError("copy_from_scaffold is not a Scaffold instance.")
            old = copy_from_scaffold
            init_op = old.init_op if init_op is None else init_op
            init_feed_dict = old.init_feed_dict if init_feed_dict is None else init_feed_dict
            init_fn = old._user_init_fn if init_fn is None else init_fn
            ready_op = old.ready_op if ready_op is None else ready_op
            if ready_for_local_init_op is None:
                ready_for_local_init_op = old.ready_for_local_init_op
            local_init_op = old.local_init_op if local_init_op is None else local_init_op
            summary_op = old.summary_op if summary_op is None else summary_op
            saver = old.saver if saver is None else saver
        self._user_init_fn: Any = init_fn
        self._init_fn = (lambda sess: init_fn(self, sess)) if init_fn else None
        self._init_op, self._init_feed_dict = init_op, init_feed_dict
        self._ready_op, self._ready_for_local_init_op = ready_op, ready_for_local_init_op
        self._local_init_op, self._summary_op, self._saver = local_init_op, summary_op, saver

    init_fn: Any = reads("_init_fn", "Called with the session after `init_op`.")
    init_op: Any = reads("_init_op", "Initialises the model.")
    ready_op: Any = reads("_ready_op", "Names of what is not initialised.")
    ready_for_local_init_op: Any = reads("_ready_for_local_init_op", "The same before `local_init_op`.")
    local_init_op: Any = reads("_local_init_op", "Initialises what belongs to this task.")
    summary_op: Any = reads("_summary_op", "All summaries in one.")
    saver: Any = reads("_saver", "Saves and restores.")
    init_feed_dict: Any = reads("_init_feed_dict", "Fed to `init_op`.")

    def finalize(self) -> Scaffold:
        """Make what is missing; then the graph can not grow any more."""
        for name, key, make in _DEFAULTS:
            if getattr(self, f"_{name}") is None:
                setattr(self, f"_{name}", Scaffold.get_or_default(name, key, make))
        if self._saver is None:
            self._saver = saver_or_default()
        if isinstance(self._saver, Checkpoint):
            self._saver = Saver(var_list=frozen_saveables(self._saver), sharded=True)
        else:
            self._saver.build()
        get_default_graph().finalize()
        log.info("Graph was finalized.")
        return self

    @staticmethod
    def get_or_default(arg_name: str, collection_key: str, default_constructor: Callable[[], Any]) -> Any:
        """The only item of a collection; what the constructor makes goes there if there is none.

        Args:
          arg_name: the argument of Scaffold that it stands for.
          collection_key: the collection.
          default_constructor: makes it.

        Raises:
          RuntimeError: there are several.
        """
        graph = get_default_graph()
        elements = graph.get_collection(collection_key)
        if len(elements) > 1:
            raise RuntimeError(
                f'More than one item in the collection "{collection_key}". Please indicate which one to use '
                f"by passing it to the tf.Scaffold constructor as:  tf.Scaffold({arg_name}=item to use)"
            )
        if elements:
            return elements[0]
        made = default_constructor()
        if made is not None:
            graph.add_to_collection(collection_key, made)
        return made

    @staticmethod
    def default_local_init_op() -> Node:
        """A node that initialises local variables, tables and local resources."""
        return group(
            local_variables_initializer(),
            tables_initializer(),
            resources.initialize_resources(resources.local_resources()),
        )


def _init_op() -> Node:
    return group(global_variables_initializer(), resources.initialize_resources(resources.shared_resources()))


def _ready_op() -> Tensor:
    missing: Tensor = concat(
        [report_uninitialized_variables(), resources.report_uninitialized_resources()], 0
    )
    return missing


def _ready_for_local_init_op() -> Tensor:
    missing: Tensor = concat(
        [
            report_uninitialized_variables(global_variables()),
            resources.report_uninitialized_resources(resources.shared_resources()),
        ],
        0,
    )
    return missing


# In TF's order, which gives the nodes their names.
_DEFAULTS: tuple[tuple[str, str, Callable[[], Any]], ...] = (
    ("init_op", GraphKeys.INIT_OP, _init_op),
    ("ready_op", GraphKeys.READY_OP, _ready_op),
    ("ready_for_local_init_op", GraphKeys.READY_FOR_LOCAL_INIT_OP, _ready_for_local_init_op),
    ("local_init_op", GraphKeys.LOCAL_INIT_OP, Scaffold.default_local_init_op),
    ("summary_op", GraphKeys.SUMMARY_OP, merge_all),
)
