"""Who makes the session of a training loop: the chief restores or initialises, a worker waits for it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from headrace.graph.defaults import get_default_graph
from headrace.train.sessions.scaffold import Scaffold
from headrace.train.sessions.session_manager import SessionManager


class SessionCreator(ABC):
    """Makes sessions: the first one, and another whenever one is lost."""

    @abstractmethod
    def create_session(self) -> Any:
        """A session whose model is ready."""


class _ScaffoldCreator(SessionCreator):
    """What chief and workers share: the scaffold, and a manager made of it once it is final."""

    def __init__(self, scaffold: Scaffold | None, master: str, config: Any) -> None:
        self._scaffold = scaffold or Scaffold()
        self._master, self._config = master, config
        self._session_manager: SessionManager | None = None

    def _get_session_manager(self) -> SessionManager:
        if self._session_manager is None:
            self._session_manager = SessionManager(
                local_init_op=self._scaffold.local_init_op,
                ready_op=self._scaffold.ready_op,
                ready_for_local_init_op=self._scaffold.ready_for_local_init_op,
                graph=get_default_graph(),
            )
        return self._session_manager


class ChiefSessionCreator(_ScaffoldCreator):
    """Restores the model from the newest checkpoint, or initialises it."""

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Any = None,
        checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None,
    ) -> None:
        """Args:
        scaffold: what initialises, checks, saves; a default one if None.
        master: where the session runs.
        config: a ConfigProto.
        checkpoint_dir: the folder of checkpoints, or
        checkpoint_filename_with_path: one of them.
        """
        super().__init__(scaffold, master, config)
        self._checkpoint_dir = checkpoint_dir
        self._checkpoint_filename_with_path = checkpoint_filename_with_path

    def create_session(self) -> Any:
        self._scaffold.finalize()
        return self._get_session_manager().prepare_session(
            self._master,
            saver=self._scaffold.saver,
            checkpoint_dir=self._checkpoint_dir,
            checkpoint_filename_with_path=self._checkpoint_filename_with_path,
            config=self._config,
            init_op=self._scaffold.init_op,
            init_feed_dict=self._scaffold.init_feed_dict,
            init_fn=self._scaffold.init_fn,
        )


class WorkerSessionCreator(_ScaffoldCreator):
    """Waits until the chief has initialised the model."""

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Any = None,
        max_wait_secs: float = 30 * 60,
    ) -> None:
        """Args:
        scaffold: what initialises and checks; a default one if None.
        master: where the session runs.
        config: a ConfigProto.
        max_wait_secs: how long to wait for the chief at most.
        """
        super().__init__(scaffold, master, config)
        self._max_wait_secs = max_wait_secs

    def create_session(self) -> Any:
        self._scaffold.finalize()
        return self._get_session_manager().wait_for_session(
            self._master, config=self._config, max_wait_secs=self._max_wait_secs
        )
