"""Graphs of later TensorFlows, brought back to 1.15's ops: attributes that 1.15 does not know are dropped
where they say what it does anyway, and ops that only prepare something are left out."""

from __future__ import annotations

from typing import Any

from headrace.formats import proto
from headrace.ops.declaration import catalog
from headrace.ops.declaration.declare import REGISTRY
from headrace.ops.declaration.messages.op_def import fill
from headrace.ops.graphdef.later_ops import rewrite
from headrace.version import GRAPH_DEF_VERSION

# Attributes that ops have got since, by kind, with the value that stands for 1.15's behaviour.
_ADDED = {
    "type": "Tcomplex=complex64 Treal=float32 Tk=int32 index_type=int32 Tsegmentids=int32 "
    "Tshape=int32 shape_type=int32 dtype=float32",
    "bool": "allow_missing_files= force_synchronous= incompatible_shape_error=1 log_warning= "
    "multiply_linear_by_lr= narrow_range= perturb_singular= replicate_on_split= "
    "reshuffle_each_iteration=1 resize_if_index_out_of_bounds= sparse_gradient= "
    "stop_on_empty_dataset= use_default_device=1 is_files=",
    "int": "axis=-1 blank_index=-1 buffer_size_min=0 offset=0 auto_shard_policy=0 ram_budget=0 "
    "external_state_policy=0 num_replicas=0",
    "float": "ensure_minimum_range=0.01 exponential_avg_factor=1 timeout_seconds=0",
    "string": "bad_indices_policy= cardinality_options= metadata= mode=auto",
    "list(int)": "explicit_paddings= padding_list=",
    "list(string)": "allowed_devices= ragged_keys=",
    "list(type)": "ragged_split_types= ragged_value_types=",
}
# Attributes that only note something, or check more, whatever their value.
_NOTES = frozenset("debug_name validate_shape grad_a grad_b grad_x grad_y metadata".split())
# Ops that change no value: they become nodes that do nothing, in their place.
_NOTHING = frozenset({"DisableCopyOnRead"})

# A write beyond the end of a list makes it longer.
_RESIZES = "resize_if_index_out_of_bounds"

_INT32 = 3  # DT_INT32
_PARSED = {"bool": bool, "int": int, "float": float}


def _added() -> dict[str, bytes]:
    """Attribute: its serialized value."""
    known = {}
    for kind, words in _ADDED.items():
        for word in words.split():
            name, _, text = word.partition("=")
            value = proto.AttrValue()
            given = [] if kind.startswith("list") else _PARSED.get(kind, str)(text)
            fill(value, kind, given)
            known[name] = value.SerializeToString()
    return known


def adapt(graph_def: Any) -> None:
    """Change a graph of a later version in place; others stay as they are."""
    if graph_def.versions.producer <= GRAPH_DEF_VERSION:
        return
    catalog.load_all()  # any op may be in it
    added = _added()
    for nodes in (graph_def.node, *(f.node_def for f in graph_def.library.function)):
        for node in list(nodes):
            if node.op in _NOTHING:
                _make_nothing(node)
                continue
            if node.attr[_RESIZES].b if _RESIZES in node.attr else False:
                _resize_first(node, nodes, in_function=nodes is not graph_def.node)
            rewrite(node, nodes, in_function=nodes is not graph_def.node)
            _drop_attrs(node, added)


def _drop_attrs(node: Any, added: dict[str, bytes]) -> None:
    op = REGISTRY.get(node.op)
    known = op.signature.attrs if op is not None else node.attr
    for name in [n for n in node.attr if n not in known]:
        if name in _NOTES or added.get(name) == node.attr[name].SerializeToString():
            del node.attr[name]


def _make_nothing(node: Any) -> None:
    names = ["^" + text.lstrip("^").partition(":")[0] for text in node.input]
    node.op = "NoOp"
    node.ClearField("attr")
    node.input[:] = list(dict.fromkeys(names))


def _resize_first(node: Any, nodes: Any, in_function: bool) -> None:
    """TensorListSetItem(list, i, x) -> TensorListSetItem(TensorListResize(list, max(size, i + 1)), i, x)"""
    del node.attr[_RESIZES]
    if node.op != "TensorListSetItem":
        return
    held, index = node.input[0], node.input[1]

    def make(name: str, op: str, output: str, *inputs: str, control: Any = ()) -> str:
        new = nodes.add(name=f"{node.name}/{name}", op=op, device=node.device)
        new.input.extend([*inputs, *control])
        if op in ("Add", "Maximum"):
            new.attr["T"].type = _INT32
        return f"{new.name}:{output}:0" if in_function else new.name

    one = make("one", "Const", "output", control=["^" + index.partition(":")[0]])
    nodes[-1].attr["dtype"].type = _INT32
    nodes[-1].attr["value"].tensor.CopyFrom(
        proto.TensorProto(dtype=_INT32, int_val=[1], tensor_shape=proto.TensorShapeProto())
    )
    size = make("size", "TensorListLength", "length", held)
    needed = make("needed", "Add", "z", index, one)
    longest = make("longest", "Maximum", "z", size, needed)
    node.input[0] = make("resized", "TensorListResize", "output_handle", held, longest)
