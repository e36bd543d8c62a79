"""Errors that are part of a place: an element that failed comes out when it is its turn."""

from __future__ import annotations

from headrace.core import errors
from headrace.core.errors import OpError


def kept_error(error: OpError) -> list[str]:
    return [type(error).__name__, error.message]


def restored_error(kept: list[str]) -> OpError:
    name, message = kept
    made: OpError = getattr(errors, name)(None, None, message)
    return made
