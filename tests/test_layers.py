"""Imports point downward: a folder imports only from folders above it in the list of ARCHITECTURE.md.
Inside of codegen/ the rooms have an order too; and no folder has more names than a reader can take in.
"""

from __future__ import annotations

import ast
from pathlib import Path

import headrace

ORDER = (
    "core formats graph ops functions autodiff variables nn plan passes placement partition codegen "
    "runtime devices session distributed data train layers contrib api tools"
).split()
# The order in which a region becomes a program.  A room may use the ones before it, at import and inside
# of functions alike.  Two modules stand outside of the rooms and may use all of them: `compiled`
# (a region at run time: programs by shape) and `attribution` (which node a kernel's time belongs to).
ROOMS = (
    "machine ir program regions fusion emit products onednn convolution assembly lowering "
    "program_cache accelerate"
).split()
ABOVE_THE_ROOMS = {"compiled", "attribution"}
NAMES = 25  # in one folder, at most
ROOT = Path(headrace.__file__).parent


def imported(path: Path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("headrace"):
            yield node.lineno, node.module
            if node.module in ("headrace", "headrace.codegen"):
                for name in node.names:
                    yield node.lineno, f"{node.module}.{name.name}"
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
            if len(words) > 1 and words[1] in ORDER and ORDER.index(words[1]) > ORDER.index(parts[0]):
                wrong.append(f"{path.relative_to(ROOT)}:{line} imports {module}")
    assert not wrong, "\n".join(wrong)


def test_every_folder_has_its_place():
    folders = {p.name for p in ROOT.iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert folders <= set(ORDER), folders - set(ORDER)


def rooms_used(codegen: Path):
    """(room or module of the importing file, the same of what it imports, where)."""
    for path in sorted(codegen.rglob("*.py")):
        place = path.relative_to(codegen).parts[0].removesuffix(".py")
        for line, module in imported(path):
            words = module.split(".")
            if words[1:2] == ["codegen"] and len(words) > 2:
                yield place, words[2], f"{path.relative_to(codegen)}:{line} imports {module}"


def out_of_order(codegen: Path) -> list[str]:
    """Imports of codegen/ that do not go to an earlier room (or to the own one)."""
    level = {room: n for n, room in enumerate(ROOMS)} | dict.fromkeys(ABOVE_THE_ROOMS, len(ROOMS))
    return [
        where
        for place, used, where in rooms_used(codegen)
        if place != used and place != "__init__" and level[used] >= level[place]
    ]


def test_the_rooms_of_the_compiler_stand_in_order():
    codegen = ROOT / "codegen"
    found = {p.name for p in codegen.iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert found == set(ROOMS), found ^ set(ROOMS)
    modules = {p.stem for p in codegen.glob("*.py")} - {"__init__"}
    assert modules == ABOVE_THE_ROOMS, "a new module of codegen/ belongs into a room"
    wrong = out_of_order(codegen)
    assert not wrong, "\n".join(wrong)


def test_an_import_inside_of_a_function_counts(tmp_path):
    for room, text in {
        "ir": "def late():\n    from headrace.codegen.emit import llvm\n",
        "emit": "from headrace.codegen.ir import kernel_ir\n",
    }.items():
        (tmp_path / room).mkdir()
        (tmp_path / room / "module.py").write_text(text)
    assert out_of_order(tmp_path) == ["ir/module.py:2 imports headrace.codegen.emit"]


def test_a_reader_can_take_in_every_folder():
    """A folder of more names is two folders."""
    for folder in [p for p in ROOT.rglob("*") if p.is_dir() and p.name != "__pycache__"]:
        names = {p.name for p in folder.iterdir()} - {"__init__.py", "__pycache__"}
        assert len(names) <= NAMES, f"{folder.relative_to(ROOT)}: {len(names)} names"
