"""Messages from files, binary or text, for the tools that work on graphs."""

from __future__ import annotations

from typing import Any

from google.protobuf import text_format
from google.protobuf.message import DecodeError

from headrace.formats import durable, files, proto


def read_message(path: Any, message: Any, is_binary: bool, what: str) -> Any:
    """Fill a message from a file.

    Raises:
      IOError: there is no such file, or it does not hold this kind of message.
    """
    if not files.exists(path):
        raise OSError(f"Input {what} file '{path}' does not exist!")
    data = files.read_bytes(path)
    try:
        if is_binary:
            message.ParseFromString(data)
        else:
            proto.from_text(data.decode(), message)
    except (DecodeError, text_format.ParseError, UnicodeDecodeError) as error:
        raise OSError(f"Cannot parse file {path}: {error}.") from None
    return message


def read_graph(path: Any) -> Any:
    """The GraphDef of a file, binary or text.

    Raises:
      IOError: there is none.
    """
    try:
        return read_message(path, proto.GraphDef(), True, "graph")
    except OSError:
        if not files.exists(path):
            raise
    return read_message(path, proto.GraphDef(), False, "graph")


def write_message(path: Any, message: Any, is_binary: bool = True) -> None:
    """Write a message, all of it or nothing."""
    data = message.SerializeToString() if is_binary else text_format.MessageToString(message)
    durable.write(path, data)


def words(text: str | None) -> list[str]:
    """The words of a list with commas."""
    return [w for w in (text or "").replace(" ", "").split(",") if w]
