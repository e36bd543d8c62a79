"""Datasets of later TensorFlows in the words of 1.15's: the same elements, in an order that these allow.

Where a later op lets its user choose between keeping the order and not ("default" is to keep it), 1.15's has
the attribute `sloppy`.  Options that say how a pipeline runs, and not what it gives, are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.formats import proto

_BOOL, _INT32, _INT64 = 10, 3, 9  # types in messages
Rewrite = Callable[[Any, Any, bool], None]


def _same(node: Any, nodes: Any, in_function: bool) -> None:
    """The input as it is, by the op of 1.15 that does nothing else."""
    node.op = "ModelDataset"
    del node.input[1 : sum(not name.startswith("^") for name in node.input)]
    for key in [k for k in node.attr if k not in ("output_types", "output_shapes")]:
        del node.attr[key]


def _is_sloppy(node: Any) -> bool:
    order = node.attr["deterministic"].s
    del node.attr["deterministic"]
    return bool(order == b"false")


def _new(node: Any, nodes: Any, title: str, op: str) -> Any:
    return nodes.add(name=f"{node.name}/{title}", op=op, device=node.device)


def _narrow(node: Any, nodes: Any, place: int, in_function: bool) -> None:
    """An int64 input, as an int32."""
    cast = _new(node, nodes, "narrow", "Cast")
    cast.input.append(node.input[place])
    cast.attr["SrcT"].type, cast.attr["DstT"].type = _INT64, _INT32
    node.input[place] = f"{cast.name}:y:0" if in_function else cast.name


def _parallel_map(node: Any, nodes: Any, in_function: bool) -> None:
    node.op = "ParallelMapDataset"
    node.attr["sloppy"].b = _is_sloppy(node)
    node.attr.pop("use_unbounded_threadpool", None)
    _narrow(node, nodes, 1 + len(node.attr["Targuments"].list.type), in_function)


def _parallel_interleave(node: Any, nodes: Any, in_function: bool) -> None:
    """V4 says how much is read ahead, too."""
    if node.op.endswith("V4"):
        first = 3 + len(node.attr["Targuments"].list.type)
        del node.input[first : first + 2]
    node.op = "ParallelInterleaveDatasetV2"
    node.attr["sloppy"].b = _is_sloppy(node)


def _legacy_interleave(node: Any, nodes: Any, in_function: bool) -> None:
    sloppy = _new(node, nodes, "sloppy", "Const")
    sloppy.attr["dtype"].type = _BOOL
    value = proto.TensorProto(dtype=_BOOL, bool_val=[_is_sloppy(node)])
    value.tensor_shape.SetInParent()
    sloppy.attr["value"].tensor.CopyFrom(value)
    node.op = "ParallelInterleaveDataset"
    place = 3 + len(node.attr["Targuments"].list.type)
    node.input.insert(place, f"{sloppy.name}:output:0" if in_function else sloppy.name)


def _parallel_batch(node: Any, nodes: Any, in_function: bool) -> None:
    node.op = "BatchDatasetV2"
    del node.input[2]
    _is_sloppy(node)


def _parallel_filter(node: Any, nodes: Any, in_function: bool) -> None:
    node.op = "FilterDataset"
    del node.input[1 + len(node.attr["Targuments"].list.type)]
    _is_sloppy(node)


def _shuffle(node: Any, nodes: Any, in_function: bool) -> None:
    """The generator of seeds is the pipeline's own."""
    node.op = "ShuffleDataset"
    del node.input[4]


def _records(node: Any, nodes: Any, in_function: bool) -> None:
    """From the beginning of the files: places within them have no counterpart."""
    node.op = "TFRecordDataset"
    del node.input[3]


def _parse_example(node: Any, nodes: Any, in_function: bool) -> None:
    """Ragged features have no counterpart."""
    if node.attr["ragged_value_types"].list.type:
        return
    node.op = "ParseExampleDataset"
    node.attr["sloppy"].b = _is_sloppy(node)


def _nothing(node: Any, nodes: Any, in_function: bool) -> None:
    """A handle that nobody uses once its users are 1.15's."""
    node.op = "NoOp"
    for key in list(node.attr):
        del node.attr[key]


def _iterator(node: Any, nodes: Any, in_function: bool) -> None:
    node.op = "AnonymousIterator"


DATASETS: dict[str, Rewrite] = {
    "AnonymousIteratorV3": _iterator,
    "DummySeedGenerator": _nothing,
    "FinalizeDataset": _same,
    "LegacyParallelInterleaveDatasetV2": _legacy_interleave,
    "OptionsDataset": _same,
    "ParallelBatchDataset": _parallel_batch,
    "ParallelFilterDataset": _parallel_filter,
    "ParallelInterleaveDatasetV3": _parallel_interleave,
    "ParallelInterleaveDatasetV4": _parallel_interleave,
    "ParallelMapDatasetV2": _parallel_map,
    "ParseExampleDatasetV2": _parse_example,
    "RewriteDataset": _same,
    "ShuffleDatasetV3": _shuffle,
    "TFRecordDatasetV2": _records,
}
