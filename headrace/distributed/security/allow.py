"""What graphs of other processes may do on a task, besides computing.

HEADRACE_ALLOW, or Security.allow, is words of:

    files            read and write any file that the process can (checkpoints, records, event files)
    files:/a,/b      only in these folders and below
    python           call Python functions of this process (py_func), by number
    clusters         bring addresses of their own (ConfigProto.cluster_def), to which this task connects
    all, none        all; nothing

Without a word: files and clusters, where only this host can call, or callers have shown that they belong to
the cluster (secret, or TLS with certificates of both ends); else nothing.  A graph of the task's own process
may do all.

In: a GraphDef.  Out: nothing, or an error that names the node.  Ops say what they do by traits.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from headrace.core.errors import InvalidArgumentError, PermissionDeniedError
from headrace.ops.declaration.catalog import find
from headrace.ops.declaration.declare import REGISTRY
from headrace.ops.declaration.traits import FILES, PYTHON, Trait

WORDS = "files, files:/folder, python, clusters, all, none"


@dataclass(frozen=True, slots=True)
class Allowed:
    files: bool = False
    python: bool = False
    clusters: bool = False
    folders: tuple[str, ...] = ()  # the only ones, if any is named

    def check(self, graph_def: Any, task: str) -> None:
        """Refuse a graph that does, in whatever function it can reach, what it may not.

        Raises:
          PermissionDeniedError: with the node and what to change.
        """
        if self.files and self.python:
            return
        for node, where in _reachable(graph_def):
            traits = _traits(node)
            if FILES in traits and not self.files:
                _refuse(task, node, where, "read or write files", "files, or files:/some/folder")
            if PYTHON in traits and not self.python:
                what = "call Python functions, which are in the process that made the graph"
                _refuse(task, node, where, what, "python")

    def check_cluster(self, task: str) -> None:
        """A session brings a cluster."""
        if not self.clusters:
            raise PermissionDeniedError(
                None,
                None,
                f"{task} does not let sessions of other processes bring a cluster (ConfigProto.cluster_def), "
                f"to whose addresses it would connect: start it with HEADRACE_ALLOW=clusters",
            )


ALL = Allowed(files=True, python=True, clusters=True)


def allowed(words: str, is_trusted: bool) -> Allowed:
    """What the words allow; `is_trusted`: callers are of this host, or have shown that they belong here."""
    given = words.split()
    if not given:
        return Allowed(files=is_trusted, clusters=is_trusted)
    files, python, clusters, folders = False, False, False, []
    for word in given:
        name, _, rest = word.partition(":")
        if word == "all":
            files = python = clusters = True
        elif name == "files":
            files = True
            folders += [os.path.realpath(folder) for folder in rest.split(",") if folder]
        elif word == "python":
            python = True
        elif word == "clusters":
            clusters = True
        elif word != "none" or len(given) > 1:
            raise InvalidArgumentError(None, None, f"HEADRACE_ALLOW: no word {word}; there are {WORDS}")
    return Allowed(files, python, clusters, tuple(folders))


def _traits(node: Any) -> frozenset[Trait]:
    declared = REGISTRY.get(node.op) or find(node.op)
    if declared.file_attr is None:
        return declared.traits
    name, is_file = declared.file_attr
    value = node.attr[name].s.decode(errors="replace") if name in node.attr else ""
    return declared.traits if is_file(value) else declared.traits - {FILES}


def _reachable(graph_def: Any) -> Iterable[tuple[Any, str]]:
    """(node, the function that it is in) of the graph and of all functions that it may call."""
    functions = {f.signature.name: f for f in graph_def.library.function}
    gradients: dict[str, list[str]] = {}
    for gradient in graph_def.library.gradient:
        gradients.setdefault(gradient.function_name, []).append(gradient.gradient_func)
    seen: set[str] = set()
    waiting: list[tuple[str, Any]] = [("", graph_def.node)]
    while waiting:
        where, nodes = waiting.pop()
        for node in nodes:
            called = {node.op, *_functions_in(node)} if node.op in functions else set(_functions_in(node))
            if node.op not in functions:
                yield node, where
            for name in list(called):
                called.update(gradients.get(name, ()))
            for name in called - seen:
                seen.add(name)
                if name in functions:
                    waiting.append((name, functions[name].node_def))


def _functions_in(node: Any) -> Iterable[str]:
    """Names of functions among the attributes, those inside of others too."""
    waiting = list(node.attr.values())
    while waiting:
        value = waiting.pop()
        for function in (value.func, *value.list.func):
            if function.name:
                yield function.name
            waiting.extend(function.attr.values())


def _refuse(task: str, node: Any, where: str, what: str, word: str) -> None:
    place = f" in function {where}" if where else ""
    raise PermissionDeniedError(
        None,
        None,
        f"{task} does not let graphs of other processes {what}: {node.op}{place}. Put it on a task of the "
        f"process that made it, or start {task} with HEADRACE_ALLOW={word} (docs/clusters.md, "
        f"How to secure it)"
        f"\n\t [[{{{{node {node.name}}}}}]]",
    )
