"""tf.logging: messages at levels, through Python's own logger of the name "tensorflow"."""

from __future__ import annotations

import logging
import sys
import threading
from logging import DEBUG, ERROR, FATAL, INFO, WARN
from typing import Any

__all__ = ["DEBUG", "ERROR", "FATAL", "INFO", "WARN"]

_lock = threading.Lock()
_made: list[logging.Logger] = []
_counts: dict[tuple[str, int], int] = {}
_DEPTH = 2  # frames between the user's line and the logger


def get_logger() -> logging.Logger:
    """The logger, set up on first use unless the program has set up logging itself."""
    if _made:
        return _made[0]
    with _lock:
        if not _made:
            logger = logging.getLogger("tensorflow")
            if not logging.getLogger().handlers and not logger.handlers:
                interactive = hasattr(sys, "ps1") or bool(sys.flags.interactive)
                if interactive:
                    logger.setLevel(INFO)
                handler = logging.StreamHandler(sys.stdout if interactive else sys.stderr)
                handler.setFormatter(logging.Formatter(logging.BASIC_FORMAT, None))
                logger.addHandler(handler)
            _made.append(logger)
    return _made[0]


def log(level: int, msg: Any, *args: Any, **kwargs: Any) -> None:
    """Write `msg % args` at a level."""
    get_logger().log(level, msg, *args, stacklevel=_DEPTH, **kwargs)


def debug(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Write `msg % args` at level DEBUG."""
    get_logger().debug(msg, *args, stacklevel=_DEPTH, **kwargs)


def info(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Write `msg % args` at level INFO."""
    get_logger().info(msg, *args, stacklevel=_DEPTH, **kwargs)


def warn(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Write `msg % args` at level WARN."""
    get_logger().warning(msg, *args, stacklevel=_DEPTH, **kwargs)


def warning(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Write `msg % args` at level WARN."""
    get_logger().warning(msg, *args, stacklevel=_DEPTH, **kwargs)


def error(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Write `msg % args` at level ERROR."""
    get_logger().error(msg, *args, stacklevel=_DEPTH, **kwargs)


def fatal(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Write `msg % args` at level FATAL."""
    get_logger().critical(msg, *args, stacklevel=_DEPTH, **kwargs)


def vlog(level: int, msg: Any, *args: Any, **kwargs: Any) -> None:
    """Write `msg % args` at a level."""
    get_logger().log(level, msg, *args, stacklevel=_DEPTH, **kwargs)


def TaskLevelStatusMessage(msg: Any) -> None:
    """An error that the whole task should show."""
    get_logger().error(msg, stacklevel=_DEPTH)


def flush() -> None:
    """Write out what handlers hold back."""
    for handler in get_logger().handlers:
        handler.flush()


def log_if(level: int, msg: Any, condition: Any, *args: Any) -> None:
    """Log where a condition holds."""
    if condition:
        get_logger().log(level, msg, *args, stacklevel=_DEPTH)


def log_every_n(level: int, msg: Any, n: int, *args: Any) -> None:
    """Log the first of every `n` calls from the same line."""
    if _count_of_caller() % n == 0:
        get_logger().log(level, msg, *args, stacklevel=_DEPTH)


def log_first_n(level: int, msg: Any, n: int, *args: Any) -> None:
    """Log the first `n` calls from the same line."""
    if _count_of_caller() < n:
        get_logger().log(level, msg, *args, stacklevel=_DEPTH)


def _count_of_caller() -> int:
    """How often the line that called our caller has done so before."""
    frame = sys._getframe(2)
    key = frame.f_code.co_filename, frame.f_lineno
    with _lock:
        _counts[key] = _counts.get(key, -1) + 1
        return _counts[key]


def get_verbosity() -> int:
    """The least level that is shown."""
    return get_logger().getEffectiveLevel()


def set_verbosity(v: int | str) -> None:
    """Show messages of this level and above."""
    get_logger().setLevel(v)
