"""Modules that an old protoc generated (*_pb2.py), which new protobuf refuses to run.

In: such a file.  Out: the same messages, made from the descriptor that stands in the file as octets.
"""

from __future__ import annotations

import ast
from pathlib import Path
from types import ModuleType
from typing import Any

from headrace.core.modules import late

proto = late("headrace.formats.proto")  # its files are in a pool of their own

_OLD = "_descriptor.FileDescriptor("


def is_old(path: Path) -> bool:
    """Was it generated before protobuf 3.20?"""
    return path.name.endswith("_pb2.py") and _OLD in path.read_text(encoding="utf-8", errors="replace")


def fill(module: ModuleType, path: Path) -> None:
    """Give the module its messages and enums."""
    from google.protobuf import descriptor_pb2, descriptor_pool
    from google.protobuf.internal import builder

    data = _serialized(path)
    pool = descriptor_pool.Default()
    file = descriptor_pb2.FileDescriptorProto.FromString(data)
    for needed in file.dependency:
        _ensure(pool, needed)
    descriptor = pool.AddSerializedFile(data)
    module.__dict__["DESCRIPTOR"] = descriptor
    builder.BuildMessageAndEnumDescriptors(descriptor, module.__dict__)
    builder.BuildTopDescriptorsAndMessages(descriptor, module.__name__, module.__dict__)


def _serialized(path: Path) -> bytes:
    """The octets of `serialized_pb` in the file."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if not isinstance(node, ast.Call):
            continue
        for word in node.keywords:
            if word.arg != "serialized_pb":
                continue
            text = next(n for n in ast.walk(word.value) if isinstance(n, ast.Constant))
            return text.value if isinstance(text.value, bytes) else str(text.value).encode("latin-1")
    raise ImportError(f"{path}: generated code without a descriptor")


def _ensure(pool: Any, name: str) -> None:
    """A file that the messages use: one that is imported already, Google's own, or TensorFlow's."""
    try:
        pool.FindFileByName(name)
        return
    except KeyError:
        pass
    if name.startswith("tensorflow/"):
        descriptor = next(iter(proto.contents(name).values())).DESCRIPTOR.file
        for needed in descriptor.dependencies:
            _ensure(pool, needed.name)
        pool.AddSerializedFile(descriptor.serialized_pb)
        return
    __import__(name.removesuffix(".proto").replace("/", ".") + "_pb2")
