"""Our notation for message tables -> FileDescriptorProto.

A table is a row of words.  `file PATH [package NAME]` opens a file (PATH without "tensorflow/" and
".proto"), `use` lists the files it needs, `message A.B` and `enum A.B` open a type, nested by its
dots, after its parent.  Inside a message `name=3:type` is a field, `*type` repeated, `key>value` a
map, `which{ ... }` a oneof; inside an enum `NAME=3` is a value.  Everything is proto3, and a type
name is looked up from the inside out, as protoc does."""

import re
from typing import Any

SCALARS = {
    name: number
    for number, name in enumerate(
        "double float int64 uint64 int32 fixed64 fixed32 bool string group message bytes uint32"
        " enum sfixed32 sfixed64 sint32 sint64".split(),
        start=1,
    )
    if name not in ("group", "message", "enum")
}
OPTIONAL, REPEATED = 1, 3
PACKAGE_WORD = re.compile(r"\S+ package (\S+)")
TYPE_LINE = re.compile(r"^(?:message|enum) (\w+)(?!\S)", re.MULTILINE)


def full_path(path: str) -> str:
    """core/framework/graph -> tensorflow/core/framework/graph.proto"""
    return f"{path}.proto" if path.startswith("google/") else f"tensorflow/{path}.proto"


def split_files(table: str) -> dict[str, str]:
    """Cut a table into the text of each of its files, by full path."""
    parts = table.strip().removeprefix("file ").split("\nfile ")
    return {full_path(text.split(maxsplit=1)[0]): text for text in parts}


def package(text: str) -> str:
    """The package of one file."""
    named = PACKAGE_WORD.match(text)
    return named[1] if named else "tensorflow"


def type_names(text: str) -> list[str]:
    """The outermost messages and enums that the text of one file declares."""
    return TYPE_LINE.findall(text)


def parse(text: str) -> Any:
    """The FileDescriptorProto of one file; text is a value of split_files."""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    words = iter(text.split())
    file = FileDescriptorProto(name=full_path(next(words)), package="tensorflow", syntax="proto3")
    types: dict[str, Any] = {"": file}
    section, oneof = "", None
    current: Any = file
    for word in words:
        if word in ("package", "use", "message", "enum"):
            section = word
            if word in ("message", "enum"):
                name = next(words)
                current = types[name] = _open_type(types, word, name)
        elif section == "package":
            file.package = word
        elif section == "use":
            file.dependency.append(full_path(word))
        elif section == "enum":
            _add_value(current, word)
        elif word == "}":
            oneof = None
        elif word.endswith("{"):
            oneof = len(current.oneof_decl)
            current.oneof_decl.add(name=word[:-1])
        else:
            _add_field(current, word, oneof)
    return file


def _open_type(types: dict[str, Any], kind: str, name: str) -> Any:
    outer, _, own = name.rpartition(".")
    parent = types[outer]
    if kind == "enum":
        return parent.enum_type.add(name=own)
    return (parent.nested_type if outer else parent.message_type).add(name=own)


def _add_value(enum: Any, word: str) -> None:
    name, _, number = word.partition("=")
    if any(value.number == int(number) for value in enum.value):
        enum.options.allow_alias = True
    enum.value.add(name=name, number=int(number))


def _add_field(message: Any, word: str, oneof: int | None) -> None:
    name, _, rest = word.partition("=")
    number, _, kind = rest.partition(":")
    field = message.field.add(name=name, number=int(number), label=OPTIONAL)
    if oneof is not None:
        field.oneof_index = oneof
    key, is_map, value = kind.partition(">")
    if is_map:
        kind = "*" + _add_entry(message, name, key, value)
    if kind.startswith("*"):
        field.label = REPEATED
    _set_type(field, kind.lstrip("*"))


def _add_entry(message: Any, field: str, key: str, value: str) -> str:
    """A map is a repeated nested message; the name of that message follows from the field's."""
    name = "".join(part[:1].upper() + part[1:] for part in field.split("_")) + "Entry"
    entry = message.nested_type.add(name=name)
    entry.options.map_entry = True
    for number, (part, kind) in enumerate([("key", key), ("value", value)], start=1):
        _set_type(entry.field.add(name=part, number=number, label=OPTIONAL), kind)
    return name


def _set_type(field: Any, kind: str) -> None:
    """A scalar by number; for a name the pool finds out whether it is a message or an enum."""
    if kind in SCALARS:
        field.type = SCALARS[kind]
    else:
        field.type_name = kind
