"""The life of a launch.  Pure: events in, actions out; no processes, no clock, no I/O.

All tasks start.  A task that fails is started again, later each time, as often as the limit allows; without
a start left its failure ends the launch, and its exit code is the launch's.  When all tasks that train are
done the others are asked to end; so they are by a signal (Ctrl-C).  Who does not end when asked is killed
after some time; a second signal kills at once.  The launch is over when no task is left.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

from headrace.core.records import record
from headrace.distributed.launch.tasks import Role, Task

GRACE = 10.0  # seconds between asking a task to end and killing it
EVALUATION = 60.0  # seconds that evaluators have after the last step
PAUSE, LONGEST = 1.0, 30.0  # seconds before a new start: the first, doubled each time, and at most


class Timer(Enum):
    GRACE = auto()
    EVALUATION = auto()


# -- events --------------------------------------------------------------------------------------
@record
class Began:
    pass


@record
class Ended:
    """A task's process has ended; a negative code is the signal that ended it."""

    task: Task
    code: int


@record
class Revived:
    """Whoever runs the tasks (Ray) has started one again by itself."""

    task: Task


@record
class Signalled:
    """The launcher itself was told to end."""

    number: int


@record
class Due:
    """The time of a Wait has passed."""

    what: Timer | Task


# -- actions -------------------------------------------------------------------------------------
@record
class Start:
    task: Task


@record
class Ask:
    """Ask a task to end."""

    task: Task


@record
class Kill:
    task: Task


@record
class Wait:
    """Due(what) after so many seconds."""

    seconds: float
    what: Timer | Task


@record
class Tell:
    """Something that the user should know."""

    text: str
    task: Task | None = None  # whose last lines of output he should see


@record
class Finish:
    code: int


Event = Began | Ended | Revived | Signalled | Due
Action = Start | Ask | Kill | Wait | Tell | Finish


class Phase(Enum):
    RUNNING = auto()
    ENDING = auto()  # tasks are asked to end
    KILLING = auto()
    OVER = auto()


@dataclass(slots=True)
class Lifecycle:
    tasks: Sequence[Task]
    restarts: int = 0  # of each task, at most
    phase: Phase = Phase.RUNNING
    code: int = 0
    running: set[Task] = field(default_factory=set)
    waiting: set[Task] = field(default_factory=set)  # for their next start
    done: set[Task] = field(default_factory=set)
    starts: dict[Task, int] = field(default_factory=dict)

    def on(self, event: Event) -> list[Action]:
        if self.phase is Phase.OVER:
            return []
        return [*self._on(event), *self._over()]

    def _on(self, event: Event) -> list[Action]:
        """What one event means in the phase of now; one that comes too late means nothing."""
        match event:
            case Began():
                return [self._start(task) for task in self.tasks]
            case Ended(task, code) if task in self.running:
                self.running.discard(task)
                return self._ended(task, code) if self.phase is Phase.RUNNING else []
            case Revived(task) if task in self.running:
                self.starts[task] += 1
                return [Tell(f"{task} was lost and is started again ({self.starts[task] - 1})")]
            case Signalled(number):
                return self._signalled(number)
            case Due(Timer.GRACE) if self.phase is Phase.ENDING:
                return self._kill()
            case Due(Timer.EVALUATION) if self.phase is Phase.RUNNING:
                return self._end()
            case Due(Task() as task) if task in self.waiting:
                self.waiting.discard(task)
                return [self._start(task)]
        return []

    def _start(self, task: Task) -> Start:
        self.running.add(task)
        self.starts[task] = self.starts.get(task, 0) + 1
        return Start(task)

    # -- the end of a task -----------------------------------------------------------------------
    def _ended(self, task: Task, code: int) -> list[Action]:
        if code == 0:
            return self._succeeded(task)
        tried = self.starts[task]
        text = f"{task} {ending(code)}"
        if tried <= self.restarts:
            pause = min(PAUSE * 2 ** (tried - 1), LONGEST)
            self.waiting.add(task)
            again = f"start {tried} of {self.restarts} again in {pause:g} s"
            return [Tell(f"{text}; {again}", task), Wait(pause, task)]
        self.code = exit_code(code)
        limit = f" after {tried} starts" if tried > 1 else ""
        return [Tell(f"{text}{limit}; ending the other tasks", task), *self._end()]

    def _succeeded(self, task: Task) -> list[Action]:
        self.done.add(task)
        left = [t for t in (*self.running, *self.waiting) if t.role is not Role.SERVES]
        if any(t.role is Role.TRAINS for t in left):
            silent = task.role is not Role.SERVES
            return [] if silent else [Tell(f"{task} ended by itself, before those that train")]
        if left and task.role is Role.TRAINS:
            return [Wait(EVALUATION, Timer.EVALUATION)]
        return [] if left else self._end()

    # -- the end of all --------------------------------------------------------------------------
    def _signalled(self, number: int) -> list[Action]:
        if self.phase is Phase.RUNNING:
            self.code = 128 + number
            return [Tell("ending all tasks; once more kills them"), *self._end()]
        if self.phase is Phase.ENDING:
            self.code = self.code or 128 + number
            return [Tell("killing the tasks that are left"), *self._kill()]
        return []

    def _end(self) -> list[Action]:
        self.phase = Phase.ENDING
        self.waiting.clear()
        return [*(Ask(t) for t in self._left()), Wait(GRACE, Timer.GRACE)]

    def _kill(self) -> list[Action]:
        self.phase = Phase.KILLING
        return [Kill(t) for t in self._left()]

    def _left(self) -> list[Task]:
        return [t for t in self.tasks if t in self.running]

    def _over(self) -> list[Action]:
        if self.running or self.phase is Phase.RUNNING:
            return []
        self.phase = Phase.OVER
        return [Finish(self.code)]


def exit_code(code: int) -> int:
    """A process's code as shells give it."""
    return 128 - code if code < 0 else code


def ending(code: int) -> str:
    """What a code says, in words."""
    if code >= 0:
        return f"failed with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"was ended by {name}"
