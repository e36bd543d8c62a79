"""What goes upward goes through core/hooks.py, and ARCHITECTURE.md lists it."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

import headrace
from headrace.core import hooks
from headrace.core.hooks import Hook, Methods

ROOT = Path(headrace.__file__).parent
PAGE = ROOT.parent / "ARCHITECTURE.md"
HOOKS = {name: hook for name, hook in vars(hooks).items() if isinstance(hook, Hook | Methods)}


def test_the_table_of_the_architecture():
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", PAGE.read_text().split("## Hooks")[1], re.M))
    assert rows == {
        name: f"`{hook.filled_by}` | `{hook.called_by}` | {hook.meaning}" for name, hook in HOOKS.items()
    }


@pytest.mark.parametrize("name", sorted(HOOKS))
def test_who_fills_and_who_calls(name):
    """Both exist, and name the hook (the class of methods is named by who gives them)."""
    hook = HOOKS[name]
    calling = hook.called_by.rpartition(".")[0] if isinstance(hook, Methods) else hook.called_by
    for place, must in ((hook.filled_by, True), (calling, isinstance(hook, Hook))):
        file = Path(importlib.import_module(f"headrace.{place}").__file__)
        files = file.parent.glob("*.py") if file.name == "__init__.py" else [file]
        assert not must or any(f"hooks.{name}" in f.read_text() for f in files), place


def test_methods_are_the_declared_ones():
    class Owner:
        pass

    methods = Methods(("one", "two"), "", "", "")
    methods.give(Owner, {"one": lambda self: 1, "two": lambda self: 2})
    assert Owner().one() + Owner().two() == 3
    with pytest.raises(ValueError, match="three"):
        methods.give(Owner, {"one": None, "two": None, "three": None})


def is_module_or_class(module: str, name: str) -> bool:
    return name[:1].isupper() or (ROOT.parent / module.replace(".", "/") / f"{name}.py").exists()


def overwritten(text: str):
    """Lines that give a name of another module of ours a new value."""
    tree = ast.parse(text)
    modules = set()
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("headrace"):
            modules |= {n.asname or n.name for n in node.names if is_module_or_class(node.module, n.name)}
    for node in ast.walk(tree):
        targets = node.targets if isinstance(node, ast.Assign) else []
        for target in targets:
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
                if target.value.id in modules:
                    yield node.lineno, ast.unparse(target)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "setattr":
            if isinstance(node.args[0], ast.Name) and node.args[0].id in modules:
                yield node.lineno, ast.unparse(node)


def test_nobody_overwrites_what_another_module_has():
    found = []
    for path in sorted(ROOT.rglob("*.py")):
        found += [f"{path.relative_to(ROOT)}:{line} {what}" for line, what in overwritten(path.read_text())]
    assert not found, "\n".join(found)


def test_an_overwritten_name_is_found():
    text = "from headrace.ops.random import philox\nphilox.words = 1\nsetattr(philox, 'a', 2)\n"
    assert list(overwritten(text)) == [(2, "philox.words"), (3, "setattr(philox, 'a', 2)")]
