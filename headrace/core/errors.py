"""tf.errors, and how a message is laid out.

    Exception
      OpError                      what failed, in which node, made at which line
        CancelledError 1           UnknownError 2             InvalidArgumentError 3
        DeadlineExceededError 4    NotFoundError 5            AlreadyExistsError 6
        PermissionDeniedError 7    ResourceExhaustedError 8   FailedPreconditionError 9
        AbortedError 10            OutOfRangeError 11         UnimplementedError 12
        InternalError 13           UnavailableError 14        DataLossError 15
        UnauthenticatedError 16
      BuildError                   both InvalidArgumentError and ValueError: a graph that can not be

A kernel or a shape rule raises with the bare message; whoever knows the node adds it with `at`.
"""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from headrace.core.fields import reads

OK, CANCELLED, UNKNOWN, INVALID_ARGUMENT, DEADLINE_EXCEEDED, NOT_FOUND = (0, 1, 2, 3, 4, 5)
ALREADY_EXISTS, PERMISSION_DENIED, RESOURCE_EXHAUSTED, FAILED_PRECONDITION = 6, 7, 8, 9
ABORTED, OUT_OF_RANGE, UNIMPLEMENTED, INTERNAL, UNAVAILABLE, DATA_LOSS = (10, 11, 12, 13, 14, 15)
UNAUTHENTICATED = 16


class OpError(Exception):
    """A step failed.  `op` is the node it failed in, where that is known; `hint` says what to do,
    where that is certain."""

    hint: str | None = None

    def __init__(self, node_def: Any, op: Any, message: Any, error_code: int) -> None:
        super().__init__()
        self._node_def, self._op = node_def, op
        self._message, self._error_code = _as_text(message), error_code

    message: str = reads("_message")
    op: Any = reads("_op")
    error_code: int = reads("_error_code")

    @property
    def node_def(self) -> Any:
        if self._node_def is None and self._op is not None:
            return self._op.node_def
        return self._node_def

    def __str__(self) -> str:
        if self._op is None:
            return hinted(self._message, self.hint)
        return layout(self._message, self._op.name, [self._op.origin], self.hint)

    def __reduce__(self) -> Any:
        # A node belongs to its graph and process: an error travels with its full text instead.
        return _unpickle, (type(self), str(self), self._error_code)


class _CodedError(OpError):
    code: int

    def __init__(self, node_def: Any, op: Any, message: Any) -> None:
        super().__init__(node_def, op, message, self.code)


def _unpickle(cls: type[OpError], text: str, code: int) -> OpError:
    return cls(None, None, text) if issubclass(cls, _CodedError) else cls(None, None, text, code)


class CancelledError(_CodedError):
    """The step was cancelled: its session was closed, or another part of it failed."""

    code = CANCELLED


class UnknownError(_CodedError):
    """Something failed that has no code of its own."""

    code = UNKNOWN

    def __init__(self, node_def: Any, op: Any, message: Any, error_code: int = UNKNOWN) -> None:
        OpError.__init__(self, node_def, op, message, error_code)


class InvalidArgumentError(_CodedError):
    """An op received a value that it can not work with."""

    code = INVALID_ARGUMENT


class DeadlineExceededError(_CodedError):
    """The time that the caller allowed has passed."""

    code = DEADLINE_EXCEEDED


class NotFoundError(_CodedError):
    """A file, a device, a table or a key does not exist."""

    code = NOT_FOUND


class AlreadyExistsError(_CodedError):
    """What should be made exists."""

    code = ALREADY_EXISTS


class PermissionDeniedError(_CodedError):
    """The caller may not do this."""

    code = PERMISSION_DENIED


class ResourceExhaustedError(_CodedError):
    """Memory or disk is used up."""

    code = RESOURCE_EXHAUSTED


class FailedPreconditionError(_CodedError):
    """The system is not in the state that the op needs: a variable was not initialised, say."""

    code = FAILED_PRECONDITION


class AbortedError(_CodedError):
    """Stopped by something else that happened at the same time."""

    code = ABORTED


class OutOfRangeError(_CodedError):
    """Past the end of the input."""

    code = OUT_OF_RANGE


class UnimplementedError(_CodedError):
    """No kernel does this."""

    code = UNIMPLEMENTED


class InternalError(_CodedError):
    """A fault of ours."""

    code = INTERNAL


class UnavailableError(_CodedError):
    """A task can not be reached at the moment."""

    code = UNAVAILABLE


class DataLossError(_CodedError):
    """Bytes that were stored are damaged or gone."""

    code = DATA_LOSS


class UnauthenticatedError(_CodedError):
    """The caller has no valid credentials."""

    code = UNAUTHENTICATED


class BuildError(InvalidArgumentError, ValueError):
    """A node that can not be made.  TF raises ValueError here; programs catch either."""


_BY_CODE: dict[int, type[OpError]] = {c.code: c for c in _CodedError.__subclasses__()}


def exception_type_from_error_code(error_code: int) -> type[OpError]:
    return _BY_CODE[error_code]


def error_code_from_exception_type(cls: type[OpError]) -> int:
    for code, known in _BY_CODE.items():
        if known is cls:
            return code
    warnings.warn(f"Unknown class exception {cls}", stacklevel=2)
    return UNKNOWN


@contextmanager
def raise_exception_on_not_ok_status() -> Iterator[NoReturn]:
    """Kept for programs that name it; there is no status object to check here."""
    yield None  # type: ignore[misc]


def _as_text(message: Any) -> str:
    if isinstance(message, bytes):
        return message.decode("utf-8", "replace")
    return str(message)


def layout(message: str, node: str, origins: list[Any], hint: str | None = None) -> str:
    """What, which node, which line, and what to do (docs: errors)."""
    lines = [message, f"  node  {node}"]
    lines += [f"  made  {origin}" for origin in origins if origin is not None]
    return hinted("\n".join(lines), hint)


def hinted(message: str, hint: str | None) -> str:
    """A message and, on a line of its own, what to do."""
    return f"{message}\n  hint  {hint}" if hint else message


def require(condition: Any, message: str, hint: str | None = None) -> None:
    """The gate of kernels and shape rules: false becomes InvalidArgumentError."""
    if not condition:
        error = InvalidArgumentError(None, None, message)
        error.hint = hint
        raise error


# What NumPy and Python raise inside a kernel, and what it means to the user.
_FOREIGN: tuple[tuple[type[Exception], type[_CodedError]], ...] = (
    (MemoryError, ResourceExhaustedError),
    (NotImplementedError, UnimplementedError),
    (FileNotFoundError, NotFoundError),
    (PermissionError, PermissionDeniedError),
    (UnicodeError, InvalidArgumentError),
    (OverflowError, InvalidArgumentError),
    (ZeroDivisionError, InvalidArgumentError),
    (ValueError, InvalidArgumentError),
    (IndexError, InvalidArgumentError),
    (TypeError, InvalidArgumentError),
    (ArithmeticError, InvalidArgumentError),
    (OSError, UnknownError),
)
# All that a kernel may raise for a fault of the user's.
KERNEL_ERRORS: tuple[type[Exception], ...] = (OpError, *(foreign for foreign, _ in _FOREIGN))


# NumPy's words for an array whose bytes cannot be counted; its other ValueErrors are the user's.
_TOO_LARGE = ("array is too big", "Maximum allowed size exceeded", "Maximum allowed dimension exceeded")


def at(error: BaseException, node: Any) -> BaseException:
    """The same failure, naming the node it happened in.  Ctrl-C and exits stay what they are."""
    if isinstance(error, OpError):
        if error._op is None:
            error._op = node
        return error
    if not isinstance(error, Exception):
        return error
    if isinstance(error, ValueError) and str(error).startswith(_TOO_LARGE):
        return _caused(ResourceExhaustedError(None, node, f"OOM: {error}"), error)
    for foreign, ours in _FOREIGN:
        if isinstance(error, foreign):
            return _caused(ours(None, node, str(error) or type(error).__name__), error)
    text = "".join(traceback.format_exception_only(type(error), error)).strip()
    return _caused(UnknownError(None, node, text), error)


def _caused(error: OpError, cause: BaseException) -> OpError:
    error.__cause__ = cause
    return error
