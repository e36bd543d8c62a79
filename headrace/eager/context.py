"""The surroundings of eager mode: one per process, with the state of its variables and random numbers.

`enable_eager_execution` makes the default graph one that runs its nodes at once (graph.eager_graph); what is
built under `with tf.Graph().as_default()` stays a graph.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property, wraps
from typing import Any

from headrace.core import hooks
from headrace.core.modules import late
from headrace.functions.platform import app
from headrace.graph import defaults
from headrace.graph.eager_graph import EagerGraph
from headrace.ops.array.source import identity
from headrace.runtime.cancel import Cancel
from headrace.runtime.containers import Containers
from headrace.runtime.step import Step
from headrace.session.library import Library
from headrace.session.run_cache import Settings
from headrace.session.settings import configuration

dispatch = late("headrace.eager.dispatch")

DEVICE_PLACEMENT_EXPLICIT, DEVICE_PLACEMENT_WARN, DEVICE_PLACEMENT_SILENT = 0, 1, 2
SYNC, ASYNC = 0, 1
_LARGEST = 2**31 - 1


class Context(EagerGraph):
    """The graph of eager mode, with what its ops share."""

    def __init__(self) -> None:
        super().__init__(identity)
        self.containers = Containers()
        self.ending = Cancel()
        self.config: Any = None
        self._random = random.Random()

    @cached_property
    def settings(self) -> Settings:
        return configuration(self.config).run

    @cached_property
    def library(self) -> Library:
        return Library(self, self.settings)

    def step(self) -> Step:
        made = Step(self.containers)
        made.library = self.library
        return made

    # -- seeds: those of ops follow from one of the whole, as in TF ------------------------------
    @property
    def seed(self) -> int | None:
        return self._seed

    @seed.setter
    def seed(self, seed: int | None) -> None:
        self._seed = seed
        self._random = random.Random(seed)
        dispatch.forget_state()

    @property
    def _last_id(self) -> int:
        """What stands in for the seed of an op that has none."""
        return self._random.randint(0, _LARGEST)


_context: list[Context] = []


def context() -> Context:
    """The surroundings, made when they are first asked for."""
    if not _context:
        hooks.run_at_once.value = dispatch.run_at_once
        _context.append(Context())
    return _context[0]


def enable_eager_execution(
    config: Any = None, device_policy: int | None = None, execution_mode: int | None = None
) -> None:
    """Ops run at once from now on, and give values.

    Args:
      config: a ConfigProto (device counts).
      device_policy: accepted; there is one kind of memory.
      execution_mode: SYNC or ASYNC; results are the same.
    """
    if config is not None and not hasattr(config, "device_count"):
        raise TypeError(f"config must be a tf.ConfigProto, but got {type(config)}")
    if device_policy not in (None, 0, 1, 2, 3):
        raise ValueError("device_policy must be one of None, DEVICE_PLACEMENT_*")
    if execution_mode not in (None, SYNC, ASYNC):
        raise ValueError("execution_mode must be one of None, tf.contrib.eager.SYNC, tf.contrib.eager.ASYNC")
    if defaults.uses_process_wide_graph() and not defaults.is_eager():
        raise ValueError("tf.enable_eager_execution must be called at program startup.")
    if config is not None and not _context:
        context().config = config
    defaults.enable_eager(context())


def disable_eager_execution() -> None:
    """Ops build graphs again."""
    defaults.enable_eager(None)


def eager_mode() -> AbstractContextManager[Any]:
    """Inside, ops run at once."""
    mode: AbstractContextManager[Any] = defaults.default_graph(context())
    return mode


@contextmanager
def graph_mode() -> Iterator[None]:
    """Inside, ops build a graph: the one around where there is one, else a new one."""
    graph = defaults.get_default_graph()
    if graph.runs_at_once:
        graph = defaults.process_wide_graph()
    with graph.as_default():
        yield


def run(main: Any = None, argv: Any = None) -> None:
    """`tf.app.run` in eager mode."""
    enable_eager_execution()
    app.run(main, argv)


def in_eager_mode(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: the function runs in eager mode."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with eager_mode():
            return function(*args, **kwargs)

    return call


@contextmanager
def execution_mode(mode: int | None) -> Iterator[None]:
    """Accepted: an op has run when its caller goes on."""
    set_execution_mode(mode)
    yield


def set_execution_mode(mode: int | None) -> None:
    """Accepted: results are the same."""
    if mode not in (None, SYNC, ASYNC):
        raise ValueError(f"Execution mode should be None/SYNC/ASYNC. Got {mode}")


def async_wait() -> None:
    """Everything has run already."""


def async_clear_error() -> None:
    """Errors are raised where they happen."""


def num_gpus() -> int:
    """How many GPUs there are: none."""
    return 0


def list_devices() -> list[str]:
    """The names of the devices that ops run on."""
    return [device.name for device in context().settings.devices]
