"""MetaGraphDef: a graph with its collections, the ops that it uses, and how it is saved.

`export_meta_graph` writes a graph, or one scope of it (names then lose the scope, and inputs from
outside are noted as unbound); `import_meta_graph` reads it into a graph again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from headrace.core import log
from headrace.core.errors import DataLossError
from headrace.core.modules import late
from headrace.formats import files, proto
from headrace.graph.collection_protos import Conversion
from headrace.graph.defaults import get_default_graph
from headrace.graph.graph import Graph
from headrace.graph.keys import GraphKeys
from headrace.graph.scope_names import add_scope, strip_scope
from headrace.ops.graphdef.importer import import_graph_def
from headrace.train.meta_graph.collection_items import conversion_of
from headrace.train.meta_graph.meta_graph_export import export_scoped_meta_graph

saver = late("headrace.train.checkpoints.saver")


# -- in -----------------------------------------------------------------------------------------
def read_meta_graph_file(filename: Any) -> Any:
    """The MetaGraphDef in a file, binary or text.

    Raises:
      OSError: there is no such file, or it holds something else.
    """
    from google.protobuf.message import DecodeError
    from google.protobuf.text_format import ParseError

    if not files.exists(filename):
        raise OSError(f"File {filename} does not exist.")
    data = files.read_bytes(filename)
    message = proto.MetaGraphDef()
    try:
        message.ParseFromString(data)
        return message
    except DecodeError:
        message.Clear()
    try:
        return proto.from_text(data.decode(), message)
    except (ParseError, UnicodeDecodeError) as error:
        raise OSError(f"Cannot parse file {filename}: {error}.") from None


def import_scoped_meta_graph(
    meta_graph_or_file: Any,
    clear_devices: bool = False,
    graph: Graph | None = None,
    import_scope: str | None = None,
    input_map: Mapping[str, Any] | None = None,
    unbound_inputs_col_name: str | None = "unbound_inputs",
    restore_collections_predicate: Callable[[str], bool] = lambda key: True,
    return_elements: Sequence[str] | None = None,
) -> tuple[dict[str, Any], Any]:
    """Add a MetaGraphDef to a graph; returns its variables by name, and `return_elements`.

    Raises:
      ValueError: inputs that the exported scope took from outside are not all in `input_map`.
    """
    message = meta_graph_or_file
    if not isinstance(message, proto.MetaGraphDef):
        message = read_meta_graph_file(message)
    _check_bound(message, input_map, unbound_inputs_col_name)
    graph = graph if graph is not None else get_default_graph()
    with graph.as_default():
        info = message.meta_info_def
        if clear_devices:
            for node in message.graph_def.node:
                node.device = ""
        scope = graph.unique_name(import_scope or "", mark_as_used=False)
        found = import_graph_def(
            message.graph_def,
            name=import_scope or scope,
            input_map=input_map,
            producer_op_list=info.stripped_op_list if info.HasField("stripped_op_list") else None,
            return_elements=return_elements,
        )
        for key in sorted(message.collection_def, key=lambda k: (k != GraphKeys.TRAINABLE_VARIABLES, k)):
            if key != unbound_inputs_col_name and restore_collections_predicate(key):
                _restore(graph, key, message, scope)
        variables = graph.get_collection(GraphKeys.GLOBAL_VARIABLES, scope)
        return {strip_scope(v.name, scope): v for v in variables}, found


def _check_bound(message: Any, input_map: Any, key: str | None) -> None:
    if not key or key not in message.collection_def:
        return
    values = [v.decode() for v in message.collection_def[key].bytes_list.value]
    given = {k.decode() if isinstance(k, bytes) else k for k in input_map or ()}
    if values and sorted(set(values)) != sorted(given):
        missing = ",".join(v for v in values if v not in given)
        raise ValueError(
            f"Graph contains unbound inputs: {missing}. Must provide these inputs through input_map."
        )


def _restore(graph: Graph, key: str, message: Any, scope: str) -> None:
    """Read one collection; a variable in several of them is one object."""
    definition = message.collection_def[key]
    kind = definition.WhichOneof("kind")
    if kind is None:
        log.error("Cannot identify data type for collection %s. Skipping.", key)
        return
    values = getattr(definition, kind).value
    found = conversion_of(key)
    if found is not None and found.from_proto is not None and kind == "bytes_list":
        seen = graph._scoped.setdefault(("imported", id(message), scope), {})
        for data in values:
            item = seen.get(data) if key in GraphKeys._VARIABLE_COLLECTIONS else None
            if item is None:
                item = seen[data] = _object(found, data, key, message, scope)
            graph.add_to_collection(key, item)
        return
    for value in values:
        if kind == "node_list":
            value = graph.as_graph_element(add_scope(value, scope))
        elif kind == "int64_list":
            value = int(value)
        elif kind == "bytes_list":
            value = add_scope(value.decode(), scope)
        graph.add_to_collection(key, value)


def _object(found: Conversion, data: bytes, key: str, message: Any, scope: str) -> Any:
    from google.protobuf.message import DecodeError

    try:
        item = found.message.FromString(data)
    except DecodeError as error:
        raise DataLossError(None, None, f"An item of collection {key} can not be parsed: {error}") from None
    if key in GraphKeys._VARIABLE_COLLECTIONS and _is_before_1_9(message):
        item.trainable = key == GraphKeys.TRAINABLE_VARIABLES
    assert found.from_proto is not None
    return found.from_proto(item, import_scope=scope)


def _is_before_1_9(message: Any) -> bool:
    """Graphs of those versions do not say whether a variable is trainable."""
    words = message.meta_info_def.tensorflow_version.split(".")
    return words != [""] and [int(w) for w in words[:2] if w.isdigit()] < [1, 9]


# -- tf.train -----------------------------------------------------------------------------------
def export_meta_graph(
    filename: Any = None,
    meta_info_def: Any = None,
    graph_def: Any = None,
    saver_def: Any = None,
    collection_list: Iterable[str] | None = None,
    as_text: bool = False,
    graph: Graph | None = None,
    export_scope: str | None = None,
    clear_devices: bool = False,
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
    save_debug_info: bool = False,
    **kwargs: Any,
) -> Any:
    """The MetaGraphDef of a graph, also written to a file.

    Args:
      filename: the file, if any.
      meta_info_def: a MetaInfoDef to begin with.
      graph_def: the nodes, if not the graph's own.
      saver_def: how it is saved.
      collection_list: names of the collections to write; all if None.
      as_text: write text format.
      graph: the graph; the default one if None.
      export_scope: only this scope; names lose it.
      clear_devices: without devices.
      clear_extraneous_savers: without the nodes of other savers than `saver_def`.
      strip_default_attrs: without attributes that have their default value.
      save_debug_info: also write which lines made the nodes.
    """
    return export_scoped_meta_graph(
        filename,
        graph_def,
        graph,
        export_scope,
        as_text,
        clear_devices=clear_devices,
        saver_def=saver_def,
        clear_extraneous_savers=clear_extraneous_savers,
        strip_default_attrs=strip_default_attrs,
        save_debug_info=save_debug_info,
        meta_info_def=meta_info_def,
        collection_list=collection_list,
        **kwargs,
    )[0]


def import_meta_graph(
    meta_graph_or_file: Any, clear_devices: bool = False, import_scope: str | None = None, **kwargs: Any
) -> Any:
    """Add a MetaGraphDef to the default graph.

    Args:
      meta_graph_or_file: the message, or the path of a file.
      clear_devices: without devices.
      import_scope: the scope to put it in.
      **kwargs: `input_map`, `return_elements`, ...

    Returns: a Saver for its variables, or None where it has none.
    """
    return import_with_elements(meta_graph_or_file, clear_devices, import_scope, **kwargs)[0]


def import_with_elements(
    meta_graph_or_file: Any, clear_devices: bool = False, import_scope: str | None = None, **kwargs: Any
) -> tuple[Any, Any]:
    """As `import_meta_graph`; also the elements that `return_elements` asks for."""
    message = meta_graph_or_file
    if not isinstance(message, proto.MetaGraphDef):
        message = read_meta_graph_file(message)
    variables, elements = import_scoped_meta_graph(
        message, clear_devices, import_scope=import_scope, **kwargs
    )
    return _saver(message, variables, import_scope), elements


def _saver(message: Any, variables: dict[str, Any], scope: str | None) -> Any:
    if not message.HasField("saver_def") and not variables:
        log.info("Saver not created because there are no variables in the graph to restore")
        return None

    if not message.HasField("saver_def"):
        return saver.Saver()
    for name, variable in variables.items():
        scope = variable.name[: len(variable.name) - len(name)]  # it may have become another
        break
    return saver.Saver(saver_def=message.saver_def, name=scope)
