"""When a hook acts: every so many steps or seconds."""

from __future__ import annotations

import time
from typing import Any


class HookTimer:
    """Decides at which steps something happens."""

    def reset(self) -> None:
        """Forget when it happened last."""

    def should_trigger_for_step(self, step: int) -> bool:
        """Whether it shall happen at this step."""
        raise NotImplementedError

    def update_last_triggered_step(self, step: int) -> tuple[Any, Any]:
        """Note that it happened.

        Args:
          step: the step.

        Returns: seconds and steps since it happened last; (None, None) the first time.
        """
        raise NotImplementedError

    def last_triggered_step(self) -> int | None:
        """The step at which it happened last."""
        raise NotImplementedError


class SecondOrStepTimer(HookTimer):
    """Every so many seconds, or every so many steps; at once the first time, and never twice at one step."""

    def __init__(self, every_secs: float | None = None, every_steps: int | None = None) -> None:
        """Args:
        every_secs: seconds, or
        every_steps: steps.
        """
        if every_secs is None and every_steps is None:
            raise ValueError("Either every_secs or every_steps should be provided.")
        if every_secs is not None and every_steps is not None:
            raise ValueError("Can not provide both every_secs and every_steps.")
        self._every_secs, self._every_steps = every_secs, every_steps
        self.reset()

    def reset(self) -> None:
        self._last_triggered_step: int | None = None
        self._last_triggered_time = 0.0

    def should_trigger_for_step(self, step: int) -> bool:
        if self._last_triggered_step is None:
            return True
        if self._last_triggered_step == step:
            return False
        if self._every_secs is not None:
            return time.time() >= self._last_triggered_time + self._every_secs
        return bool(step >= self._last_triggered_step + self._every_steps)  # type: ignore[operator]

    def update_last_triggered_step(self, step: int) -> tuple[Any, Any]:
        now, before, last = time.time(), self._last_triggered_time, self._last_triggered_step
        self._last_triggered_time, self._last_triggered_step = now, step
        return (None, None) if last is None else (now - before, step - last)

    def last_triggered_step(self) -> int | None:
        return self._last_triggered_step


class NeverTriggerTimer(HookTimer):
    """Never."""

    def should_trigger_for_step(self, step: int) -> bool:
        return False

    def update_last_triggered_step(self, step: int) -> tuple[Any, Any]:
        return None, None

    def last_triggered_step(self) -> int | None:
        return None
