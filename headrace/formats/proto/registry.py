"""Message classes and enums on demand, in a pool of our own.  In: a name.  Out: its class.

A table is loaded when a name is not found in those loaded before, and a file enters the pool when
one of its types, or a file that uses it, is asked for."""

import threading
from importlib import import_module
from typing import Any

from headrace.formats.proto import notation

# Searched in this order, so that common messages need few tables; where two packages declare the
# same name (Node, Profile, DataType), the short name means the first.
TOPICS = (
    "framework",
    "example",
    "events",
    "statistics",
    "config",
    "training",
    "saved_model",
    "distributed",
    "profiler",
    "tools",
)
WELL_KNOWN = {
    "any": "Any",
    "duration": "Duration",
    "wrappers": "DoubleValue FloatValue Int64Value UInt64Value Int32Value UInt32Value BoolValue"
    " StringValue BytesValue",
}


class Registry:
    """The tables read so far, the files in the pool, and which file declares which name."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._unread = list(TOPICS)
        self._texts: dict[str, str] = {}
        self._homes: dict[str, str] = {}
        self._files: dict[str, Any] = {}
        self._pool: Any = None
        for stem, names in WELL_KNOWN.items():
            self._note_names(f"google/protobuf/{stem}.proto", "google.protobuf", names.split())

    @property
    def pool(self) -> Any:
        """The DescriptorPool of all files asked for so far."""
        with self._lock:
            if self._pool is None:
                from google.protobuf.descriptor_pool import DescriptorPool

                self._pool = DescriptorPool()
            return self._pool

    def find(self, name: str) -> Any:
        """The class of a message, or the wrapper of an enum, by short or full name, else None."""
        path = self._home(name)
        if path is None:
            return None
        file = self.file(path)
        own = name.rpartition(".")[2]
        if own in file.message_types_by_name:
            return message_class(file.message_types_by_name[own])
        return enum_wrapper(file.enum_types_by_name[own])

    def FindMessageTypeByName(self, full_name: str) -> Any:
        """Stands in for a pool where text format opens an Any: loads what the Any holds."""
        outer = full_name
        while outer and not self._home(outer):
            outer = outer.rpartition(".")[0]
        if outer:
            self.file(self._homes[outer])
        return self.pool.FindMessageTypeByName(full_name)

    def file(self, path: str) -> Any:
        """The FileDescriptor of path; it enters the pool after those it uses."""
        with self._lock:
            if path not in self._files:
                self.pool.AddSerializedFile(self._serialized(path))
                self._files[path] = self.pool.FindFileByName(path)
            return self._files[path]

    def names(self) -> list[str]:
        """Every outermost message and enum, by full name."""
        self._read_all()
        return sorted(name for name in self._homes if "." in name)

    def paths(self) -> list[str]:
        """Every file of our tables."""
        self._read_all()
        return list(self._texts)

    def _home(self, name: str) -> str | None:
        with self._lock:
            while name not in self._homes and self._read_topic():
                pass
            return self._homes.get(name)

    def _read_all(self) -> None:
        with self._lock:
            while self._read_topic():
                pass

    def _read_topic(self) -> bool:
        """Read one more table; False when there is none left."""
        if not self._unread:
            return False
        table = import_module(f"headrace.formats.proto.{self._unread.pop(0)}").TABLE
        for path, text in notation.split_files(table).items():
            self._texts[path] = text
            self._note_names(path, notation.package(text), notation.type_names(text))
        return True

    def _note_names(self, path: str, package: str, names: list[str]) -> None:
        for name in names:
            self._homes[f"{package}.{name}"] = path
            self._homes.setdefault(name, path)

    def _serialized(self, path: str) -> bytes:
        if path.startswith("google/"):
            module = path.removesuffix(".proto").replace("/", ".") + "_pb2"
            return bytes(import_module(module).DESCRIPTOR.serialized_pb)
        while path not in self._texts:
            if not self._read_topic():
                raise KeyError(f"no message table for {path}")
        file = notation.parse(self._texts[path])
        for used in file.dependency:
            self.file(used)
        return bytes(file.SerializeToString())


def message_class(descriptor: Any) -> Any:
    """The class of a message descriptor; pickle finds it again through the package."""
    from google.protobuf.message_factory import GetMessageClass

    made = GetMessageClass(descriptor)
    made.__module__ = "headrace.formats.proto"
    return made


def enum_wrapper(descriptor: Any) -> Any:
    """What protoc's modules offer for an enum: Name, Value, keys, values, and a name per value."""
    from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper

    return EnumTypeWrapper(descriptor)
