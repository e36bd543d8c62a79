"""A graph without what its outputs do not need; its inputs become placeholders.

headrace strip --input_graph g.pb --output_graph s.pb --input_node_names x --output_node_names y
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from headrace.core.dtypes import as_dtype
from headrace.core.errors import OpError
from headrace.formats import proto
from headrace.functions.io.graph_tools import extract_sub_graph
from headrace.tools.graph_message import read_graph, read_message, words, write_message


def strip_unused(
    input_graph_def: Any, input_node_names: Any, output_node_names: Any, placeholder_type_enum: Any
) -> Any:
    """Keep what lies between inputs and outputs.

    Args:
      input_graph_def: a GraphDef.
      input_node_names: names of the nodes that become placeholders.
      output_node_names: names of the nodes to keep.
      placeholder_type_enum: their type, or a list with one type for each.

    Returns:
      A GraphDef.

    Raises:
      ValueError: an input is the name of a tensor, not of a node.
      KeyError: the graph does not have an input.
    """
    inputs = list(input_node_names)
    for name in inputs:
        if ":" in name:
            raise ValueError(f"Name '{name}' appears to refer to a Tensor, not a Operation.")
    types = placeholder_type_enum
    if not isinstance(types, (list, tuple)):
        types = [types] * len(inputs)
    missing = set(inputs)
    out = proto.GraphDef()
    out.library.CopyFrom(input_graph_def.library)
    out.versions.CopyFrom(input_graph_def.versions)
    for node in input_graph_def.node:
        new = out.node.add()
        if node.name not in inputs:
            new.CopyFrom(node)
            continue
        missing.discard(node.name)
        new.name, new.op = node.name, "Placeholder"
        new.attr["dtype"].type = types[inputs.index(node.name)]
        for key in ("_output_shapes", "shape"):
            if key in node.attr:
                new.attr[key].CopyFrom(node.attr[key])
    if missing:
        raise KeyError(f"The following input nodes were not found: {missing}")
    return extract_sub_graph(out, list(output_node_names))


def strip_unused_from_files(
    input_graph: str,
    input_binary: bool,
    output_graph: str,
    output_binary: bool,
    input_node_names: str,
    output_node_names: str,
    placeholder_type_enum: Any,
) -> None:
    """As `strip_unused`, from file to file; names have commas between them."""
    if not output_node_names:
        raise ValueError("You need to supply the name of a node to --output_node_names.")
    message = read_message(input_graph, proto.GraphDef(), input_binary, "graph")
    stripped = strip_unused(message, words(input_node_names), words(output_node_names), placeholder_type_enum)
    write_message(output_graph, stripped, output_binary)
    print(f"{len(stripped.node)} ops in the final graph.")


# -- headrace strip ------------------------------------------------------------------------------
def graph_arguments(word: str, text: str | None) -> argparse.ArgumentParser:
    """The arguments of commands that read a graph, and write what lies between some nodes."""
    parser = argparse.ArgumentParser(prog=f"headrace {word}", description=text)
    for name, what in (
        ("input_graph", "file of a GraphDef, binary or text"),
        ("output_graph", "where to write"),
        ("input_node_names", "nodes that become placeholders, with commas between them"),
        ("output_node_names", "nodes to keep, with commas between them"),
    ):
        parser.add_argument(f"--{name}", required=True, help=what)
    parser.add_argument("--placeholder_type", default="float32", help="type of what is fed")
    parser.add_argument("--output_as_text", action="store_true")
    return parser


def change_graph(parser: argparse.ArgumentParser, given: Any, change: Any) -> int:
    """Read a graph, change it between its inputs and outputs, write it."""
    try:
        graph = read_graph(given.input_graph)
        kind = as_dtype(given.placeholder_type).as_datatype_enum
        new = change(graph, words(given.input_node_names), words(given.output_node_names), kind)
        write_message(given.output_graph, new, not given.output_as_text)
    except (OSError, OpError, ValueError, KeyError, TypeError, AssertionError) as error:
        message = error.message if isinstance(error, OpError) else error
        parser.exit(1, f"{parser.prog}: {message}\n")
    print(f"{len(graph.node)} nodes became {len(new.node)}")
    return 0


def main(arguments: Sequence[str]) -> int:
    parser = graph_arguments("strip", __doc__)
    return change_graph(parser, parser.parse_args(list(arguments)), strip_unused)
