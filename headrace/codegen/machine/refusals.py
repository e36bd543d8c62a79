"""How compiled code says no.  Apart from what makes it, so that a step that is not compiled (the
first one of a small program) need not load the compiler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from headrace.core.errors import InternalError, InvalidArgumentError


class CheckFailed(InvalidArgumentError):
    """A value is outside what an op accepts.  No variable has changed."""


class OutOfBounds(InternalError):
    """Compiled code left an array (HEADRACE_VERIFY=bounds).  `names` are nodes that it computes."""

    def __init__(self, message: str, names: Sequence[str] = ()) -> None:
        super().__init__(None, None, message)
        self.names = list(names)


class Declined(Exception):
    """Nodes of the region that cannot be compiled with these shapes, with the reasons.  Where one is
    a fault of the compiler, that is not kept: another version may have mended it.  `asked` are the places of
    the operands whose values a node's rule asked for and did not get; a node that is absent asked for none,
    or nobody knows."""

    def __init__(
        self, reasons: dict[str, str], is_fault: bool = False, asked: dict[str, list[int]] | None = None
    ) -> None:
        super().__init__("; ".join(f"{node}: {reason}" for node, reason in reasons.items()))
        self.reasons, self.is_fault, self.asked = reasons, is_fault, asked or {}


class Cancel(Protocol):
    """What ends a run early: once there is a reason, whoever works raises it (runtime.cancel has the
    token of a step)."""

    @property
    def reason(self) -> BaseException | None: ...


class Never:
    """The token of a run that nobody ends."""

    reason: BaseException | None = None


NEVER = Never()
