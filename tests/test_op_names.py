"""One op, one block: no op is named outside of ops/, api/ and formats/.

Elsewhere an op is the object that its block declares (`node.op is matmul`), or what its traits and rules say.
Names of scopes and nodes, which TF chose after ops ("Relu6"), are no names of ops.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import headrace
from headrace.ops.declaration import catalog
from headrace.ops.declaration.declare import REGISTRY

ROOT = Path(headrace.__file__).parent
FREE = ("ops", "api", "formats", "minitorch")  # MiniTorch has functions of its own under such names
NAMES_GIVEN = {"name", "default_name", "scope", "word"}  # arguments that name a node or a scope
EXCEPTIONS = {
    "functions/io/graph_tools.py": "rewrites GraphDefs, messages in which an op is its name",
    "tools": "graph tools of TF, which read and write such messages too",
    "keras/saving/older_weights.py": "names of Keras's layers",
    "contrib/layers/pooling.py": "names of scopes, in a table",
    "functions/nn/pool.py": "names of scopes, in a table",
    "functions/nn/fractional.py": "words of documentation",
    "functions/queues/staging.py": "what a family of ops does, each under one word",
    "train/meta_graph/collection_items.py": "the name of a class",
}
COMMON = {"Any"}  # an annotation, too


def docstrings(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef) and node.body:
            if isinstance(node.body[0], ast.Expr):
                yield node.body[0].value


def names_of_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Constants where a name is given: name="Relu6", name or "Relu6", name_scope(name, "Relu6")."""
    for node in ast.walk(tree):
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
            yield node.values[-1]
        elif isinstance(node, ast.keyword) and node.arg in NAMES_GIVEN:
            yield node.value
        elif isinstance(node, ast.Call) and "scope" in ast.unparse(node.func).lower():
            yield from (part for argument in node.args for part in ast.walk(argument))
        elif isinstance(node, ast.arguments):
            named = [*node.posonlyargs, *node.args][::-1]
            yield from (d for a, d in zip(named, node.defaults[::-1]) if a.arg in NAMES_GIVEN)
        elif isinstance(node, ast.JoinedStr | ast.Raise):
            yield from ast.walk(node)


def op_names(text: str) -> Iterator[tuple[int, str]]:
    tree = ast.parse(text)
    others = {id(node) for node in [*docstrings(tree), *names_of_nodes(tree)]}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in others:
            words = node.value.split()
            if words and all(word in REGISTRY and word not in COMMON for word in words):
                yield node.lineno, node.value


def is_excepted(place: str) -> bool:
    return any(place == known or place.startswith(f"{known}/") for known in EXCEPTIONS)


def test_no_op_is_named_outside_of_its_block():
    catalog.load_all()
    found = []
    for path in sorted(ROOT.rglob("*.py")):
        place = path.relative_to(ROOT).as_posix()
        if not place.startswith(FREE) and not is_excepted(place):
            found += [f"{place}:{line} names {name}" for line, name in op_names(path.read_text())]
    assert not found, "\n".join(found)


def test_every_exception_is_needed():
    catalog.load_all()
    for known in EXCEPTIONS:
        place = ROOT / known
        files = place.rglob("*.py") if place.is_dir() else [place]
        assert any(list(op_names(f.read_text())) for f in files), known


def test_a_name_is_found():
    catalog.load_all()
    text = """
if node.type == "MatMul": ...
_SUMS = "Add AddV2"
def relu6(x, name="Relu6"):
    '''Relu6'''
    with name_scope(name, "Relu6"):
        raise ValueError("MatMul")
"""
    assert sorted(op_names(text)) == [(2, "MatMul"), (3, "Add AddV2")]
