"""A graph and a checkpoint (or a SavedModel) become one graph with constants in place of variables.

headrace freeze --input_graph g.pbtxt --input_checkpoint model --output_node_names softmax --output_graph f.pb
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import Any

from headrace.core.errors import OpError
from headrace.formats import proto
from headrace.functions.io.graph_tools import convert_variables_to_constants
from headrace.graph.defaults import get_default_graph
from headrace.graph.graph import Graph
from headrace.ops.graphdef.importer import import_graph_def
from headrace.session.session import Session
from headrace.tools.graph_message import read_message, words, write_message
from headrace.train.checkpoints.checkpoint_files import checkpoint_exists
from headrace.train.checkpoints.checkpoint_reader import NewCheckpointReader
from headrace.train.checkpoints.saver import Saver
from headrace.train.meta_graph.meta_graph import import_meta_graph
from headrace.train.saved_model import saved_model_names as names
from headrace.train.saved_model.loader import SavedModelLoader, load


def freeze_graph(
    input_graph: str,
    input_saver: str,
    input_binary: bool,
    input_checkpoint: str,
    output_node_names: str,
    restore_op_name: Any,
    filename_tensor_name: Any,
    output_graph: str,
    clear_devices: bool,
    initializer_nodes: str | None,
    variable_names_whitelist: str = "",
    variable_names_blacklist: str = "",
    input_meta_graph: str | None = None,
    input_saved_model_dir: str | None = None,
    saved_model_tags: str = names.SERVING,
    checkpoint_version: int = proto.SaverDef.V2,
) -> Any:
    """Freeze a graph that lies in files.

    Args:
      input_graph: file of a GraphDef.
      input_saver: file of a SaverDef.
      input_binary: whether these files are binary, not text.
      input_checkpoint: the variables.
      output_node_names: names of the nodes to keep, with commas between them.
      restore_op_name: not used.
      filename_tensor_name: not used.
      output_graph: where to write; nothing is written if empty.
      clear_devices: without devices.
      initializer_nodes: nodes to run before, with commas between them.
      variable_names_whitelist: only these variables become constants.
      variable_names_blacklist: these do not.
      input_meta_graph: file of a MetaGraphDef, in place of `input_graph`.
      input_saved_model_dir: a SavedModel, in place of all of them.
      saved_model_tags: which of its graphs.
      checkpoint_version: of the checkpoint.

    Returns:
      The GraphDef.
    """
    graph_def = meta_graph_def = saver_def = None
    if input_saved_model_dir:
        loader = SavedModelLoader(input_saved_model_dir)
        graph_def = loader.get_meta_graph_def_from_tags(words(saved_model_tags)).graph_def
    elif input_graph:
        graph_def = read_message(input_graph, proto.GraphDef(), input_binary, "graph")
    if input_meta_graph:
        meta_graph_def = read_message(input_meta_graph, proto.MetaGraphDef(), input_binary, "meta graph")
    if input_saver:
        saver_def = read_message(input_saver, proto.SaverDef(), input_binary, "saver")
    return freeze_graph_with_def_protos(
        graph_def, saver_def, input_checkpoint, output_node_names, restore_op_name,
        filename_tensor_name, output_graph, clear_devices, initializer_nodes,
        variable_names_whitelist, variable_names_blacklist, meta_graph_def, input_saved_model_dir,
        words(saved_model_tags), checkpoint_version,
    )  # fmt: skip


def freeze_graph_with_def_protos(
    input_graph_def: Any,
    input_saver_def: Any,
    input_checkpoint: str,
    output_node_names: str,
    restore_op_name: Any,
    filename_tensor_name: Any,
    output_graph: str,
    clear_devices: bool,
    initializer_nodes: str | None,
    variable_names_whitelist: str = "",
    variable_names_blacklist: str = "",
    input_meta_graph_def: Any = None,
    input_saved_model_dir: str | None = None,
    saved_model_tags: Any = None,
    checkpoint_version: int = proto.SaverDef.V2,
) -> Any:
    """Freeze a graph that was read already; the arguments are those of `freeze_graph`.  It is imported
    into the default graph.

    Raises:
      ValueError: the checkpoint does not exist, or does not fit the graph; no names are given.
    """
    if not input_saved_model_dir and not checkpoint_exists(input_checkpoint):
        raise ValueError(f"Input checkpoint '{input_checkpoint}' doesn't exist!")
    if not output_node_names:
        raise ValueError("You need to supply the name of a node to --output_node_names.")
    whole = input_meta_graph_def.graph_def if input_meta_graph_def else input_graph_def
    if clear_devices and whole is not None:
        for node in whole.node:
            node.device = ""
    if input_graph_def and not input_saved_model_dir:
        import_graph_def(input_graph_def, name="")
    with Session() as sess:
        if input_saver_def:
            Saver(saver_def=input_saver_def, write_version=checkpoint_version).restore(sess, input_checkpoint)
        elif input_meta_graph_def:
            saver = import_meta_graph(input_meta_graph_def, clear_devices=True)
            saver.restore(sess, input_checkpoint)
            _run(sess, initializer_nodes)
        elif input_saved_model_dir:
            load(sess, saved_model_tags or [], input_saved_model_dir)
        else:
            saver = _saver_of(input_checkpoint, checkpoint_version)
            saver.restore(sess, input_checkpoint)
            _run(sess, initializer_nodes)
        frozen = convert_variables_to_constants(
            sess,
            whole,
            words(output_node_names),
            variable_names_whitelist=words(variable_names_whitelist) or None,
            variable_names_blacklist=words(variable_names_blacklist) or None,
        )
    if output_graph:
        write_message(output_graph, frozen)
    return frozen


def _run(sess: Any, nodes: str | None) -> None:
    if nodes:
        sess.run(words(nodes))


def _saver_of(checkpoint: Any, version: int) -> Saver:
    """A Saver of the variables of the default graph that the checkpoint has."""
    graph = get_default_graph()
    found = {}
    for name in NewCheckpointReader(checkpoint).get_variable_to_shape_map():
        try:
            found[name] = graph.get_tensor_by_name(f"{name}:0")
        except KeyError:
            continue
    try:
        return Saver(var_list=found, write_version=version)
    except TypeError:
        if any(_is_part_of(n.name, found) for n in graph.get_operations()):
            raise ValueError(
                "Models containing partition variables cannot be converted from checkpoint files, only from "
                "a SavedModel (--input_saved_model_dir)."
            ) from None
        if not any(_is_variable(n.type) for n in graph.get_operations()):
            raise ValueError(
                "No variables were found in this model: it seems to be frozen already."
            ) from None
        raise


def _is_part_of(node: str, names_found: Any) -> bool:
    return bool(re.search(r"/part_\d+/?", node)) and any(name in node for name in names_found)


def _is_variable(kind: str) -> bool:
    return kind.startswith("Variable") or kind.endswith("VariableOp")


# -- headrace freeze -----------------------------------------------------------------------------
_FLAGS = {
    "input_graph": "file of a GraphDef",
    "input_saver": "file of a SaverDef",
    "input_checkpoint": "the variables",
    "output_graph": "where to write",
    "output_node_names": "nodes to keep, with commas between them",
    "initializer_nodes": "nodes to run before, with commas between them",
    "variable_names_whitelist": "only these variables become constants",
    "variable_names_blacklist": "these do not",
    "input_meta_graph": "file of a MetaGraphDef",
    "input_saved_model_dir": "a SavedModel",
    "saved_model_tags": "which of its graphs",
}


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="headrace freeze", description=__doc__)
    for name, text in _FLAGS.items():
        default = names.SERVING if name == "saved_model_tags" else ""
        parser.add_argument(f"--{name}", default=default, help=text)
    as_bool = lambda text: text.lower() == "true"
    for name, default_flag in (("input_binary", False), ("clear_devices", True)):
        parser.add_argument(f"--{name}", nargs="?", const=True, default=default_flag, type=as_bool)
    parser.add_argument("--checkpoint_version", type=int, default=2, choices=(1, 2))
    given = vars(parser.parse_args(list(arguments)))
    version = given.pop("checkpoint_version")
    with Graph().as_default():
        try:
            frozen = freeze_graph(
                **given,
                restore_op_name=None,
                filename_tensor_name=None,
                checkpoint_version=proto.SaverDef.V1 if version == 1 else proto.SaverDef.V2,
            )
        except (OSError, ValueError, OpError) as error:
            parser.exit(1, f"headrace freeze: {error}\n")
    print(f"{len(frozen.node)} nodes in the frozen graph")
    return 0
