"""Graph -> MetaGraphDef: nodes (of one scope, perhaps), collections, the ops that it uses."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from headrace.core import log
from headrace.core.errors import NotFoundError
from headrace.formats import proto
from headrace.functions.io.graph_files import write_graph
from headrace.functions.io.graph_tools import node_name
from headrace.graph.defaults import get_default_graph
from headrace.graph.graph import Graph
from headrace.graph.keys import GraphKeys
from headrace.graph.scope_names import add_scope, strip_scope
from headrace.ops.control.control_flow import enter, ref_enter
from headrace.ops.declaration import catalog
from headrace.ops.declaration.declare import REGISTRY
from headrace.ops.declaration.messages.op_def import fill
from headrace.train.meta_graph.collection_items import conversion_of
from headrace.version import GIT_VERSION, TF_VERSION

UNBOUND = "$unbound_inputs_"
_SAVER_OPS = frozenset(
    "SaveV2 Save SaveSlice LegacySave LegacySaveSlice RestoreV2 Restore RestoreSlice LegacyRestore "
    "LegacyRestoreSlice".split()
)


# -- out ----------------------------------------------------------------------------------------
def export_scoped_meta_graph(
    filename: Any = None,
    graph_def: Any = None,
    graph: Graph | None = None,
    export_scope: str | None = None,
    as_text: bool = False,
    unbound_inputs_col_name: str | None = "unbound_inputs",
    clear_devices: bool = False,
    saver_def: Any = None,
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
    save_debug_info: bool = False,
    **kwargs: Any,
) -> tuple[Any, dict[str, Any]]:
    """A MetaGraphDef, and the variables in it by name.  See `export_meta_graph`."""
    graph = graph if graph is not None else get_default_graph()
    dropped: set[str] = set()
    if export_scope or clear_extraneous_savers or clear_devices:
        source = graph_def if graph_def else graph.as_graph_def(add_shapes=True)
        if clear_extraneous_savers:
            dropped = _other_savers(source, saver_def)
        unbound: list[str] = []
        graph_def = proto.GraphDef(versions=source.versions)
        graph_def.library.CopyFrom(source.library)
        for node in source.node:
            if _is_included(node.name, export_scope, dropped):
                _add_node(graph_def, node, export_scope, unbound, clear_devices)
        if unbound_inputs_col_name:
            graph.clear_collection(unbound_inputs_col_name)
            for name in unbound:
                graph.add_to_collection(unbound_inputs_col_name, name)
    variables = {
        strip_scope(v.name, export_scope): v
        for v in graph.get_collection(GraphKeys.GLOBAL_VARIABLES, export_scope)
        if _is_included(v.name, export_scope, dropped)
    }
    message = create_meta_graph_def(
        graph_def=graph_def,
        graph=graph,
        export_scope=export_scope,
        exclude_nodes=dropped,
        clear_extraneous_savers=clear_extraneous_savers,
        saver_def=saver_def,
        strip_default_attrs=strip_default_attrs,
        **kwargs,
    )
    if filename:
        write_graph(message, os.path.dirname(filename), os.path.basename(filename), as_text)
        if save_debug_info:
            _write_origins(message, graph, export_scope, filename, as_text)
    return message, variables


def _is_included(name: str, scope: str | None, dropped: Iterable[str]) -> bool:
    return name not in dropped and (not scope or name.startswith((scope, UNBOUND)))


def _add_node(graph_def: Any, node: Any, scope: str | None, unbound: list[str], bare: bool) -> None:
    """Add a copy of a node, with names as seen from inside the scope."""
    new = graph_def.node.add()
    new.CopyFrom(node)
    new.name = strip_scope(node.name, scope)
    if bare:
        new.device = ""
    if not scope:
        return
    for i, text in enumerate(node.input):
        if text.lstrip("^").startswith(scope):
            new.input[i] = strip_scope(text, scope)
        else:
            new.input[i] = ("^" if text.startswith("^") else "") + UNBOUND + text.lstrip("^")
            unbound.append(new.input[i])
    if "_class" in node.attr:
        groups = [g.decode() for g in node.attr["_class"].list.s]
        kept = [strip_scope(g, scope) for g in groups if g.split("@")[1].startswith(scope)]
        new.attr["_class"].Clear()
        fill(new.attr["_class"], "list(string)", kept)
    if node.op in (enter.name, ref_enter.name):
        name = node.attr["frame_name"].s.decode()
        new.attr["frame_name"].s = strip_scope(name, scope).encode()


def _other_savers(graph_def: Any, saver_def: Any) -> set[str]:
    """Nodes in the scopes of savers other than the one given."""
    own = set()
    if saver_def is not None:
        names = (node_name(saver_def.save_tensor_name), node_name(saver_def.restore_op_name))
        own = {name.rpartition("/")[0] + "/" for name in names}
    savers = {n.name for n in graph_def.node if n.op in _SAVER_OPS}
    scopes = {name.rpartition("/")[0] for name in savers} - savers
    foreign = tuple(s + "/" for s in scopes if s + "/" not in own)
    return {n.name for n in graph_def.node if n.name.startswith(foreign)} if foreign else set()


def create_meta_graph_def(
    meta_info_def: Any = None,
    graph_def: Any = None,
    saver_def: Any = None,
    collection_list: Iterable[str] | None = None,
    graph: Graph | None = None,
    export_scope: str | None = None,
    exclude_nodes: Iterable[str] | None = None,
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
) -> Any:
    """The message from its parts; what is not given comes from the graph."""
    _check_types(graph, meta_info_def, graph_def, saver_def)
    graph = graph if graph is not None else get_default_graph()
    message = proto.MetaGraphDef()
    info = message.meta_info_def
    if meta_info_def is not None:
        info.MergeFrom(meta_info_def)
    info.tensorflow_version, info.tensorflow_git_version = TF_VERSION, GIT_VERSION
    message.graph_def.MergeFrom(graph_def or graph.as_graph_def(add_shapes=True))
    if not info.stripped_op_list.op:
        info.stripped_op_list.MergeFrom(stripped_op_list_for_graph(message.graph_def))
    if strip_default_attrs:
        strip_graph_default_valued_attrs(message)
    if saver_def is not None:
        message.saver_def.MergeFrom(saver_def)
    keys = graph.get_all_collection_keys() if collection_list is None else collection_list
    for key in keys:
        contents = None
        if clear_extraneous_savers and key == GraphKeys.SAVERS:
            found = conversion_of(key)
            assert found is not None and found.from_proto is not None
            contents = [found.from_proto(saver_def)]
        add_collection_def(message, key, graph, export_scope, exclude_nodes, contents)
    return message


def _check_types(graph: Any, meta_info_def: Any, graph_def: Any, saver_def: Any) -> None:
    for value, kind, name in (
        (graph, Graph, "graph"),
        (meta_info_def, proto.MetaGraphDef.MetaInfoDef, "meta_info_def"),
        (graph_def, proto.GraphDef, "graph_def"),
        (saver_def, proto.SaverDef, "saver_def"),
    ):
        if value is not None and not isinstance(value, kind):
            raise TypeError(f"{name} must be of type {kind.__name__}, not {type(value)}")


def ops_used_by_graph_def(graph_def: Any) -> list[str]:
    """Names of the ops in a graph and in the functions that it calls."""
    functions = {f.signature.name: f for f in graph_def.library.function}
    used: set[str] = set()
    waiting = [graph_def.node]
    while waiting:
        for node in waiting.pop():
            if node.op not in used:
                used.add(node.op)
                if node.op in functions:
                    waiting.append(functions[node.op].node_def)
    return sorted(used - functions.keys())


def stripped_op_list_for_graph(graph_def: Any) -> Any:
    """The OpList of the ops that a graph uses, without prose.

    Raises:
      ValueError: an op is not known.
    """
    out = proto.OpList()
    for name in ops_used_by_graph_def(graph_def):
        try:
            out.op.add().CopyFrom(catalog.find(name).op_def)
        except NotFoundError:
            raise ValueError(f"Op {name} is used by the graph, but is not registered") from None
    return out


def strip_graph_default_valued_attrs(meta_graph_def: Any) -> None:
    """Remove attributes that have their default value: older programs may not know them."""
    graph_def = meta_graph_def.graph_def
    functions = {f.signature.name for f in graph_def.library.function}
    bodies = [f.node_def for f in graph_def.library.function]
    for node in [*graph_def.node, *(n for body in bodies for n in body)]:
        op = None if node.op in functions else REGISTRY.get(node.op)
        for attr in () if op is None else op.op_def.attr:
            if attr.HasField("default_value") and attr.name in node.attr:
                if node.attr[attr.name] == attr.default_value:
                    del node.attr[attr.name]
    meta_graph_def.meta_info_def.stripped_default_attrs = True


def add_collection_def(
    meta_graph_def: Any,
    key: Any,
    graph: Graph | None = None,
    export_scope: str | None = None,
    exclude_nodes: Iterable[str] | None = None,
    override_contents: Any = None,
) -> None:
    """Write one collection.  Items that have no form in a message leave a warning."""
    if not isinstance(key, str):
        log.warning("Only collections with string type keys will be serialized. This key has %s", type(key))
        return
    graph = graph if graph is not None else get_default_graph()
    items = [
        x
        for x in override_contents or graph.get_collection(key)
        if _item_included(x, export_scope, exclude_nodes or ())
    ]
    if not items:
        return
    try:
        _fill_collection(meta_graph_def.collection_def[key], key, items, export_scope)
    except (TypeError, ValueError, AttributeError) as error:
        log.warning(
            "The collection %s is left out of the file: its items are of no kind that a CollectionDef "
            "can hold (%s).",
            key,
            error,
        )
        del meta_graph_def.collection_def[key]


def _item_included(item: Any, scope: str | None, dropped: Iterable[Any]) -> bool:
    name = item if isinstance(item, str) else getattr(item, "name", None)
    return name is None or _is_included(name, scope, dropped)


def _fill_collection(message: Any, key: str, items: list[Any], scope: str | None) -> None:
    found = conversion_of(key)
    if found is not None and found.to_proto is not None:
        for item in items:
            written = found.to_proto(item, export_scope=scope)
            if written is not None:
                message.bytes_list.value.append(written.SerializeToString())
        message.bytes_list.SetInParent()
        return
    first = items[0]
    if isinstance(first, (str, bytes)):
        message.bytes_list.value.extend(i.encode() if isinstance(i, str) else i for i in items)
    elif isinstance(first, int):
        message.int64_list.value.extend(items)
    elif isinstance(first, float):
        message.float_list.value.extend(items)
    elif hasattr(first, "DESCRIPTOR") and hasattr(first, "type_url"):
        for item in items:  # its class may be that of another pool
            message.any_list.value.add(type_url=item.type_url, value=item.value)
    else:
        names = [i.name for i in items]
        message.node_list.value.extend(
            strip_scope(n, scope) for n in names if not scope or n.startswith(scope)
        )


def _write_origins(message: Any, graph: Graph, scope: str | None, path: str, as_text: bool) -> None:
    """Beside the graph: which line of the program made each node."""
    out = proto.GraphDebugInfo()
    numbers: dict[str, int] = {}
    for node in message.graph_def.node:
        made = graph.get_operation_by_name(add_scope(node.name, scope)).origin
        number = numbers.setdefault(made.filename, len(numbers))
        trace = out.traces[f"{add_scope(node.name, scope)}@"]
        trace.file_line_cols.add(file_index=number, line=made.line, func=made.function, code=made.text)
    out.files.extend(numbers)
    name = os.path.splitext(path)[0] + ".debug"
    write_graph(out, os.path.dirname(name), os.path.basename(name), as_text)
