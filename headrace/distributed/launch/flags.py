"""Which of the classic flags of a distributed program (`--ps_hosts`, ...) a program defines, by its source.

A flag is defined where a function is called whose name begins with DEFINE_ (tf.app.flags, absl) or is
add_argument (argparse), with the flag's name as a literal.  Looked at are the program and the modules that it
imports from its own folder; nothing is run.  A source that does not parse defines nothing: Python will say
what is wrong with it.
"""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterator, Sequence
from pathlib import Path

MOST = 200  # files


def asked_flags(program: Sequence[str], known: Sequence[str]) -> frozenset[str]:
    """Those of `known` that the program (a file, a folder, or -m and a module) defines."""
    start = _start(program)
    if start is None:
        return frozenset()
    found: set[str] = set()
    pending, seen = [start], {start}
    while pending and len(seen) <= MOST:
        tree = _parsed(pending.pop())
        found.update(name for name in _defined(tree) if name in known)
        for path in _imported(tree, start.parent):
            if path not in seen:
                seen.add(path)
                pending.append(path)
    return frozenset(found)


def _start(program: Sequence[str]) -> Path | None:
    if program[0] != "-m":
        path = Path(program[0])
        return path / "__main__.py" if path.is_dir() else path
    spec = importlib.util.find_spec(program[1])
    if spec is not None and spec.submodule_search_locations:
        spec = importlib.util.find_spec(f"{program[1]}.__main__")
    return Path(spec.origin) if spec is not None and spec.has_location and spec.origin else None


def _parsed(path: Path) -> ast.AST:
    try:
        return ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return ast.Module(body=[], type_ignores=[])


def _defined(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        name: str = getattr(function, "attr", getattr(function, "id", ""))
        if name.startswith("DEFINE_") or name == "add_argument":
            for word in node.args:
                if isinstance(word, ast.Constant) and isinstance(word.value, str):
                    yield word.value.lstrip("-").replace("-", "_")


def _imported(tree: ast.AST, folder: Path) -> Iterator[Path]:
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            names = [module, *(f"{module}.{name.name}".lstrip(".") for name in node.names)]
        for name in filter(None, names):
            place = folder.joinpath(*name.split("."))
            for path in (place.with_suffix(".py"), place / "__init__.py"):
                if path.is_file():
                    yield path
