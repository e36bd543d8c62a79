"""TF 1.15's messages and enums by name: `proto.GraphDef()`, `proto.DataType.Name(1)`.

Classes are built on first use from the tables beside this file, in a descriptor pool of our own:
same packages, full names and file names as TensorFlow's, no clash with TensorFlow's own classes.
Messages of another process or library cross over as bytes."""

import typing  # "Any" here is a message

from headrace.formats.proto.registry import Registry, enum_wrapper, message_class

_registry = Registry()


def __getattr__(name: str) -> typing.Any:
    made = None if name.startswith("_") else _registry.find(name)
    if made is None:
        raise AttributeError(f"TF 1.15 has no message or enum {name!r}")
    globals()[name] = made
    return made


def __dir__() -> list[str]:
    return sorted({*globals(), *(name.rpartition(".")[2] for name in _registry.names())})


def find(full_name: str) -> typing.Any:
    """The outermost message or enum of a full name, e.g. tensorflow.tfprof.pprof.Profile."""
    made = _registry.find(full_name)
    if made is None:
        raise KeyError(f"TF 1.15 has no message or enum {full_name!r}")
    return made


def full_names() -> list[str]:
    """The full name of every outermost message and enum."""
    return _registry.names()


def paths() -> list[str]:
    """The path of every file, e.g. tensorflow/core/framework/graph.proto."""
    return _registry.paths()


def contents(path: str) -> dict[str, typing.Any]:
    """What protoc's module for the file would hold: messages, enums, enum values, DESCRIPTOR."""
    file = _registry.file(path)
    held: dict[str, typing.Any] = {"DESCRIPTOR": file}
    for name, message in file.message_types_by_name.items():
        held[name] = message_class(message)
    for name, enum in file.enum_types_by_name.items():
        held[name] = enum_wrapper(enum)
        held.update((value.name, value.number) for value in enum.values)
    return held


def to_text(message: typing.Any) -> str:
    """Text format; an Any is shown opened where it holds one of our messages."""
    from google.protobuf.text_format import MessageToString

    return str(MessageToString(message, descriptor_pool=_registry))


def from_text(text: str, message: typing.Any) -> typing.Any:
    """Merge text format into message; returns message.  Fields that we do not know, of a newer TensorFlow
    say, are skipped, unless nothing else is there."""
    from google.protobuf.text_format import Parse, ParseError

    try:
        return Parse(text, message, descriptor_pool=_registry)
    except ParseError:
        known = type(message)()
        Parse(text, known, allow_unknown_field=True, descriptor_pool=_registry)
        if not known.ByteSize():
            raise
        message.CopyFrom(known)
        return message
