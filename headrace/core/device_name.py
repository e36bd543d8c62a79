"""Device names: "/job:worker/replica:0/task:1/device:CPU:0", parsed, merged, compared.

A name may be partial; merging fills what is missing.  Public as `tf.DeviceSpec`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any


class DeviceSpec:
    """A possibly partial device name.  None means: not said."""

    __slots__ = ("job", "replica", "task", "device_type", "device_index")

    def __init__(
        self,
        job: str | None = None,
        replica: int | None = None,
        task: int | None = None,
        device_type: str | None = None,
        device_index: int | None = None,
    ) -> None:
        self.job = job
        self.replica = None if replica is None else int(replica)
        self.task = None if task is None else int(task)
        # "cpu" and "gpu" are the only types that TF spells in either case.
        self.device_type = device_type.upper() if device_type in ("cpu", "gpu") else device_type
        self.device_index = None if device_index is None else int(device_index)

    @classmethod
    def from_string(cls, spec: str) -> DeviceSpec:
        return cls().parse_from_string(spec)

    def parse_from_string(self, spec: str) -> DeviceSpec:
        """Take every field from text; fields that the text does not say are cleared."""
        self.job = self.replica = self.task = self.device_type = self.device_index = None
        for part in (spec or "").split("/"):
            words = part.split(":")
            match words:
                case [""]:
                    continue
                case ["job", job] if job:
                    self.job = job
                case ["replica", number]:
                    self.replica = _number(number, spec)
                case ["task", number]:
                    self.task = _number(number, spec)
                case ["device", kind, index]:
                    self._set_device(kind, index, spec)
                case ["device", kind]:
                    self._set_device(kind, "*", spec)
                case [kind, index] if kind.upper() in ("CPU", "GPU"):
                    self._set_device(kind.upper(), index, spec)
                case [kind] if kind.upper() in ("CPU", "GPU"):
                    self._set_device(kind.upper(), "*", spec)
                case _:
                    raise ValueError(f"Unknown attribute: '{words[0]}' in '{spec}'")
        return self

    def _set_device(self, kind: str, index: str, spec: str) -> None:
        if self.device_type is not None:
            raise ValueError(f"Cannot specify multiple device types: {spec}")
        kind = kind.upper() if kind.lower() in ("cpu", "gpu") else kind
        self.device_type = None if kind == "*" else kind
        self.device_index = _number(index, spec)

    def merge_from(self, other: DeviceSpec) -> None:
        """Fields that `other` says win."""
        for field in DeviceSpec.__slots__:
            value = getattr(other, field)
            if value is not None:
                setattr(self, field, value)

    def make_merged_spec(self, other: DeviceSpec) -> DeviceSpec:
        merged = DeviceSpec(*(getattr(self, f) for f in DeviceSpec.__slots__))
        merged.merge_from(other)
        return merged

    def replace(self, **fields: Any) -> DeviceSpec:
        return DeviceSpec(**({f: getattr(self, f) for f in DeviceSpec.__slots__} | fields))

    def matches(self, full: DeviceSpec) -> bool:
        """Does a complete name satisfy this partial one?"""
        return all(
            getattr(self, f) is None or getattr(self, f) == getattr(full, f) for f in DeviceSpec.__slots__
        )

    def to_string(self) -> str:
        text = ""
        if self.job is not None:
            text += f"/job:{self.job}"
        if self.replica is not None:
            text += f"/replica:{self.replica}"
        if self.task is not None:
            text += f"/task:{self.task}"
        if self.device_type is not None:
            index = "*" if self.device_index is None else str(self.device_index)
            text += f"/device:{self.device_type}:{index}"
        return text

    __str__ = to_string

    def __repr__(self) -> str:
        return f"DeviceSpec({self.to_string()!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceSpec) and self.to_string() == other.to_string()

    def __hash__(self) -> int:
        return hash(self.to_string())


def _number(text: str, spec: str) -> int | None:
    if text == "*":
        return None
    if not text.isdigit():
        raise ValueError(f"Could not parse device number '{text}' in '{spec}'")
    return int(text)


@lru_cache(maxsize=4096)
def parse(name: str) -> DeviceSpec:
    """The parsed form, shared: do not change it."""
    return DeviceSpec.from_string(name)


def merge(outer: str, inner: str) -> str:
    """The device of a node inside nested scopes: what the inner one says wins."""
    return parse(outer).make_merged_spec(parse(inner)).to_string()


def canonical(spec: Any) -> str:
    """Any spelling that TF accepts ("/cpu:0", a DeviceSpec, None) as canonical text."""
    if spec is None:
        return ""
    if isinstance(spec, DeviceSpec):
        return spec.to_string()
    return parse(spec).to_string()
