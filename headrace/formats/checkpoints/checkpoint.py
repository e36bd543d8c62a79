"""A checkpoint of whichever format is there: V2 before V1."""

from __future__ import annotations

from typing import Any

from headrace.formats import files, proto
from headrace.formats.checkpoints import bundle
from headrace.formats.checkpoints.bundle import BundleReader
from headrace.formats.checkpoints.checkpoint_v1 import V1Reader


def open_checkpoint(prefix: Any) -> BundleReader | V1Reader:
    """A reader of the checkpoint.

    Raises:
      NotFoundError: there is none.
      DataLossError: it is damaged.
    """
    if bundle.exists(prefix):
        return BundleReader(prefix)
    matching = files.glob(bundle.index_path(files.local(prefix)))
    if len(matching) == 1:
        return BundleReader(matching[0].removesuffix(".index"))
    return V1Reader(prefix)


def exists(prefix: Any) -> bool:
    """Is there a checkpoint of either format?"""
    path = files.local(prefix)
    return bundle.exists(path) or bool(files.glob(f"{path}.index")) or bool(files.glob(path))


def describe(reader: BundleReader | V1Reader) -> str:
    """A line per tensor: name, type, shape."""
    lines = []
    for name, dtype, shape in reader.tensors():
        kind = proto.DataType.Name(dtype.as_datatype_enum)
        parts = len(reader.slices(name))
        line = f"{name} ({kind}) [{','.join(map(str, shape))}]"
        lines.append(line + (f", {parts} slices" if parts > 1 else "") + "\n")
    return "".join(lines)
