"""Imports point downward: a folder imports only from folders above it in the list of ARCHITECTURE.md."""

from __future__ import annotations

import ast
from pathlib import Path

import headrace

ORDER = (
    "core formats graph ops functions autodiff variables nn plan passes placement partition codegen "
    "runtime devices session distributed data train layers contrib api tools"
).split()
ROOT = Path(headrace.__file__).parent


def imported(path: Path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("headrace"):
            yield node.lineno, node.module
            if node.module == "headrace":
                for name in node.names:
                    yield node.lineno, f"headrace.{name.name}"
        elif isinstance(node, ast.Import):
            for name in node.names:
                if name.name.startswith("headrace"):
                    yield node.lineno, name.name


def test_imports_point_downward():
    wrong = []
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).parts
        if len(parts) < 2 or parts[0] not in ORDER:
            continue
        for line, module in imported(path):
            words = module.split(".")
            if (
                len(words) > 1
                and words[1] in ORDER
                and ORDER.index(words[1]) > ORDER.index(parts[0])
            ):
                wrong.append(f"{path.relative_to(ROOT)}:{line} imports {module}")
    assert not wrong, "\n".join(wrong)


def test_every_folder_has_its_place():
    folders = {p.name for p in ROOT.iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert folders <= set(ORDER), folders - set(ORDER)
