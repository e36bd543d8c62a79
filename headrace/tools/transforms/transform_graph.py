"""TransformGraph: a GraphDef through a row of transforms.

headrace transform --in_graph g.pb --out_graph out.pb --inputs x --outputs y --transforms 'fold_constants'
"""

from __future__ import annotations

import argparse
import importlib
import os
from collections.abc import Iterable, Sequence
from typing import Any

from headrace.core import log
from headrace.core.errors import OpError
from headrace.formats import proto
from headrace.tools.graph_message import read_graph, words, write_message
from headrace.tools.transforms.call import TRANSFORMS, Call, parse
from headrace.tools.transforms.nodes import node_of, refuse

_FAMILIES = ("labels", "selection", "constants", "weights", "convolutions", "batch_norms",
             "eight_bits", "requantization", "older_ops", "tables")  # fmt: skip


def TransformGraph(input_graph_def: Any, inputs: Any, outputs: Any, transforms: Any) -> Any:
    """Change a graph, usually one that is to be used for inference elsewhere.

    Args:
      input_graph_def: a GraphDef; it is left as it is.
      inputs: names of the nodes that are fed.
      outputs: names of the nodes that are fetched.
      transforms: a list of transforms with parameters, as in
        `["strip_unused_nodes", "fold_constants(ignore_errors=true)", "remove_nodes(op=Identity)"]`.

    Returns:
      A GraphDef.

    Raises:
      InvalidArgumentError: a transform is not known, or does not fit the graph.
    """
    calls = parse(" ".join(transforms))
    for call in calls:
        call.inputs, call.outputs = list(inputs), list(outputs)
    return apply(input_graph_def, calls)


def apply(graph_def: Any, calls: Iterable[Call]) -> Any:
    """The graph after all calls; functions and versions stay."""
    _load()
    current = proto.GraphDef()
    current.CopyFrom(graph_def)
    for call in calls:
        if call.name not in TRANSFORMS:
            raise refuse(f"Transform '{call.name}' not recognized.")
        ignores = call.flag("ignore_errors")
        try:
            new = TRANSFORMS[call.name](current, call)
        except OpError as error:
            if not ignores:
                raise
            log.warning("%s: Ignoring error %s", call.name, error.message)
            continue
        for part in ("library", "versions"):
            if current.HasField(part):
                getattr(new, part).CopyFrom(getattr(graph_def, part))
        check(new)
        current = new
    return current


def check(graph_def: Any) -> None:
    """Every name is there once, every input exists."""
    names: set[str] = set()
    for node in graph_def.node:
        if node.name in names:
            raise refuse(f"Duplicate node name: {node.name}")
        names.add(node.name)
    for node in graph_def.node:
        for text in node.input:
            if node_of(text) not in names:
                raise refuse(f"Invalid input {text} for node {node.name}")


def _load() -> None:
    for family in _FAMILIES:
        importlib.import_module(f"headrace.tools.transforms.{family}")


def main(arguments: Sequence[str]) -> int:
    _load()
    parser = argparse.ArgumentParser(
        prog="headrace transform", description=__doc__, epilog="Transforms: " + ", ".join(sorted(TRANSFORMS))
    )
    for name, text in (
        ("in_graph", "file of a GraphDef, binary or text"),
        ("out_graph", "where to write"),
        ("transforms", "transforms with their parameters"),
    ):
        parser.add_argument(f"--{name}", required=True, help=text)
    for name in ("inputs", "outputs"):
        parser.add_argument(f"--{name}", default="", help=f"{name}, with commas between them")
    parser.add_argument("--output_as_text", nargs="?", const="true", default="false")
    given = parser.parse_args(list(arguments))
    try:
        graph = read_graph(os.path.expanduser(given.in_graph))
        calls = [given.transforms]
        out = TransformGraph(graph, words(given.inputs), words(given.outputs), calls)
        is_text = given.output_as_text.lower() in ("true", "1")
        write_message(os.path.expanduser(given.out_graph), out, not is_text)
    except (OSError, OpError) as error:
        message = error.message if isinstance(error, OpError) else error
        parser.exit(1, f"headrace transform: {message}\n")
    print(f"{len(graph.node)} nodes became {len(out.node)}")
    return 0
