"""Errors on the wire: a code that is TF's own, and a text that names the node.

TF's clients look for [[{{node NAME}}]] in the text and show the node's line; ours do the same, so that an
error of a task far away points at the user's program.
"""

from __future__ import annotations

import re

from headrace.core import errors
from headrace.core.errors import OpError
from headrace.graph.graph import Graph

_NODE = re.compile(r"\s*\[\[\{\{node ([^\}]+)\}\}\]\]")
MOST = 1 << 16  # characters of a message; gRPC carries texts in headers, which are small


def to_status(error: BaseException) -> tuple[int, str]:
    """(code, text) of whatever ended a call."""
    if isinstance(error, OpError):
        text, node = error.message, error.op
        if node is not None and not _NODE.search(text):
            text = f"{text}\n\t [[{{{{node {node.name}}}}}]]"
        return error.error_code, text[:MOST]
    if isinstance(error, MemoryError):
        return errors.RESOURCE_EXHAUSTED, "out of memory"
    if isinstance(error, RecursionError):
        return errors.RESOURCE_EXHAUSTED, f"too deep: {error}"
    code = errors.INVALID_ARGUMENT if isinstance(error, (ValueError, TypeError)) else errors.INTERNAL
    return code, f"{type(error).__name__}: {error}"[:MOST]


def from_status(code: int, text: str) -> OpError:
    """The error that somebody else's status means."""
    try:
        kind = errors.exception_type_from_error_code(code)
    except KeyError:
        kind = errors.UnknownError
    return kind(None, None, text)  # type: ignore[call-arg]  # every kind of a code takes three


def located(error: OpError, graph: Graph) -> OpError:
    """An error of some task as one of the client's graph: its node, with the line that made it."""
    match = _NODE.search(error.message)
    node = graph._nodes.get(match.group(1)) if match and error.op is None else None
    if node is not None:
        error._message, error._op = _NODE.sub("", error.message, count=1), node
    return error


def told_by(task: str, error: BaseException) -> BaseException:
    """The error with the task that it comes from, in TF's words, unless it names one."""
    if isinstance(error, OpError) and "/job:" not in error.message:
        error._message = f"From {task}:\n{error.message}"
    return error
