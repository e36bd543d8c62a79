"""Assets: files that a model needs (vocabularies, say), named by constant tensors of its graph."""

from __future__ import annotations

import filecmp
import os
from typing import Any

from headrace.core.dtypes import string
from headrace.core.errors import DataLossError
from headrace.formats import files, proto
from headrace.graph.defaults import get_default_graph
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.traits import CONSTANT
from headrace.train.saved_model import places
from headrace.train.saved_model import saved_model_names as names


def collect(tensors: Any) -> dict[str, str]:
    """Add the assets of these tensors to the graph's collection.

    Returns: the files to copy, by their names in the folder of assets.
    """
    sources: dict[str, str] = {}
    for tensor in tensors or ():
        source = path_of(tensor)
        if not source:
            raise ValueError(f"Invalid asset filepath tensor {tensor}")
        name = free_name(source, sources)
        sources[name] = source
        message = proto.AssetFileDef(filename=name)
        message.tensor_info.name = tensor.name
        packed = proto.Any()
        packed.Pack(message)
        get_default_graph().add_to_collection(names.ASSETS_KEY, packed)
    return sources


def path_of(tensor: Any) -> str:
    """The path that a constant says."""
    if not isinstance(tensor, Tensor):
        raise TypeError("Asset path tensor must be a Tensor.")
    if CONSTANT not in tensor.op.declaration.traits:
        raise TypeError("Asset path tensor must be of type constant.")
    if tensor.dtype != string:
        raise TypeError("Asset path tensor must be of dtype string.")
    value = tensor.op.attrs["value"].array
    if value.size != 1:
        raise TypeError("Asset path tensor must be a scalar.")
    return os.fsdecode(value.item())


def free_name(source: str, taken: dict[str, str]) -> str:
    """The name of a file, with a number where another file has it already."""
    wanted = name = os.path.basename(source)
    number = 0
    while name in taken and not _same(source, taken[name]):
        number += 1
        name = f"{wanted}_{number}"
    return name


def _same(one: str, other: str) -> bool:
    if one == other:
        return True
    with files.translated(one):
        return filecmp.cmp(files.local(one), files.local(other), shallow=False)


def copy(sources: dict[str, str], export_dir: Any) -> None:
    """Put the files into the folder of assets."""
    if not sources:
        return
    folder = places.made(places.assets_folder(export_dir))
    for name, source in sources.items():
        target = os.path.join(folder, name)
        if not files.exists(target):
            files.copy(source, target)


def found(export_dir: Any, meta_graph: Any, scope: str | None = None) -> dict[str, bytes]:
    """Paths of the assets of a model, by the names of the tensors that stand for them."""
    messages = list(meta_graph.asset_file_def)
    if not messages and names.ASSETS_KEY in meta_graph.collection_def:
        packed = meta_graph.collection_def[names.ASSETS_KEY].any_list.value
        from google.protobuf.message import DecodeError

        try:
            messages = [proto.AssetFileDef.FromString(item.value) for item in packed]
        except DecodeError as error:
            raise DataLossError(None, None, f"{export_dir}: assets: {error}") from None
    folder = places.assets_folder(export_dir)
    paths: dict[str, bytes] = {}
    for message in messages:
        name = message.tensor_info.name
        path = os.path.join(folder, message.filename)
        if os.path.relpath(path, folder).startswith(os.pardir):
            raise DataLossError(
                None, None, f"asset {message.filename!r} of {folder} lies outside of its folder"
            )
        paths[f"{scope}/{name}" if scope else name] = os.fsencode(path)
    return paths
