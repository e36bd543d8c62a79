"""Imports point downward: a folder imports only from folders above it in the list of ARCHITECTURE.md.
Inside of codegen/ and distributed/ the rooms have an order too; and no folder has more names than a reader
can take in.
Imports stand at the head of their file and make no circle: `late` (core/modules.py) is for those that would.
Long functions say what they are for.  Tests stand where their modules do.
"""

from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest

import headrace
from headrace.core.modules import late

ORDER = (
    "core formats graph ops functions autodiff variables nn plan passes placement partition codegen "
    "runtime devices session eager autograd minitorch distributed data train layers keras distributions "
    "contrib aged api tools"
).split()
# Rooms that stand in an order, and modules outside of them that may use all of them.  A room may use the ones
# before it, at import and inside of functions alike.
#   codegen: as a region becomes a program; `compiled` is a region at run time (programs by shape,
#   `open_region`: for all sizes),
#   `attribution` says which node a kernel's time belongs to.
#   distributed: from what a cluster is to who plans for it; `server` is a task with all of it, `client` a
#   session at one.
ROOMS = {
    "codegen": (
        "machine ir program regions fusion emit products onednn convolution assembly lowering "
        "program_cache accelerate"
    ).split(),
    "distributed": "cluster security sockets wire transport worker master launch".split(),
}
ABOVE_THE_ROOMS = {"codegen": {"compiled", "open_region", "attribution"}, "distributed": {"server", "client"}}
NAMES = 25  # in one folder, at most
LINES = 500  # of one file
ROOT = Path(headrace.__file__).parent
TESTS = Path(__file__).parent


def imported(path: Path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("headrace"):
            yield node.lineno, node.module
            if node.module in ("headrace", "headrace.codegen", "headrace.distributed"):
                for name in node.names:
                    yield node.lineno, f"{node.module}.{name.name}"
        elif isinstance(node, ast.Import):
            for name in node.names:
                if name.name.startswith("headrace"):
                    yield node.lineno, name.name
        elif is_late(node):
            yield node.lineno, node.args[0].value


def is_late(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "late"


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


def rooms_used(folder: Path, name: str):
    """(room or module of the importing file, the same of what it imports, where)."""
    for path in sorted(folder.rglob("*.py")):
        place = path.relative_to(folder).parts[0].removesuffix(".py")
        for line, module in imported(path):
            words = module.split(".")
            if words[1:2] == [name] and len(words) > 2:
                yield place, words[2], f"{path.relative_to(folder)}:{line} imports {module}"


def out_of_order(folder: Path, name: str) -> list[str]:
    """Imports of a folder that do not go to an earlier room (or to the own one)."""
    level = {room: n for n, room in enumerate(ROOMS[name])}
    level |= dict.fromkeys(ABOVE_THE_ROOMS[name], len(level))
    above = ABOVE_THE_ROOMS[name]
    return [
        where
        for place, used, where in rooms_used(folder, name)
        if place not in (used, "__init__") and level[used] >= level[place] and place not in above
    ]


@pytest.mark.parametrize("name", ROOMS)
def test_rooms_stand_in_order(name):
    folder = ROOT / name
    found = {p.name for p in folder.iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert found == set(ROOMS[name]), found ^ set(ROOMS[name])
    modules = {p.stem for p in folder.glob("*.py")} - {"__init__"}
    assert modules == ABOVE_THE_ROOMS[name], f"a new module of {name}/ belongs into a room"
    wrong = out_of_order(folder, name)
    assert not wrong, "\n".join(wrong)


def test_an_import_inside_of_a_function_counts(tmp_path):
    for room, text in {
        "ir": "def late():\n    from headrace.codegen.emit import llvm\n",
        "emit": "from headrace.codegen.ir import kernel_ir\n",
    }.items():
        (tmp_path / room).mkdir()
        (tmp_path / room / "module.py").write_text(text)
    assert out_of_order(tmp_path, "codegen") == ["ir/module.py:2 imports headrace.codegen.emit"]


@pytest.mark.parametrize("root", [ROOT, TESTS], ids=["headrace", "tests"])
def test_a_reader_can_take_in_every_folder(root):
    """A folder of more names is two folders.  The roots have all folders of the list above."""
    for folder in [p for p in root.rglob("*") if p.is_dir() and p.name != "__pycache__"]:
        names = {p.name for p in folder.iterdir()} - {"__init__.py", "__pycache__"}
        assert len(names) <= NAMES, f"{folder.relative_to(root)}: {len(names)} names"


@pytest.mark.parametrize("root", [ROOT, TESTS], ids=["headrace", "tests"])
def test_a_file_has_at_most_500_lines(root):
    long = [str(p.relative_to(root)) for p in root.rglob("*.py") if len(p.read_text().splitlines()) > LINES]
    assert not long, f"two nouns in one file: {long}"


# -- where imports stand ---------------------------------------------------------------------------
# Libraries that cost a user milliseconds, loaded by what needs them.
HEAVY = set("llvmlite google grpc mpmath importlib hashlib difflib secrets".split())
INSIDE = {"__init__.py": "the package replaces itself by a namespace, which must not show these names"}


def inside_functions(path: Path):
    """(line, module) of the imports that run when a function does."""
    for function in ast.walk(ast.parse(path.read_text())):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.ImportFrom):
                    yield node.lineno, node.module or ""
                elif isinstance(node, ast.Import):
                    yield from ((node.lineno, name.name) for name in node.names)


def test_imports_stand_at_the_head_of_their_file():
    wrong = []
    for path in sorted(ROOT.rglob("*.py")):
        place = path.relative_to(ROOT)
        if place.parts[0] not in INSIDE:
            wrong += [
                f"{place}:{line} imports {module} inside of a function (see {late.__module__})"
                for line, module in inside_functions(path)
                if module.split(".")[0] not in HEAVY
            ]
    assert not wrong, "\n".join(wrong)


def at_once(path: Path, known: set[str]):
    """The modules of ours that a file needs while it is imported."""
    pending: list[ast.AST] = list(ast.parse(path.read_text()).body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{name.name}" for name in node.names]
            yield from (name if name in known else node.module for name in names)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        pending += ast.iter_child_nodes(node)


def circle(uses: dict[str, set[str]]) -> list[str]:
    """Modules that need each other, or none."""
    done: set[str] = set()
    for start in uses:
        path, pending = [start], [iter(sorted(uses[start]))]
        while pending:
            module = next((m for m in pending[-1] if m in uses and m not in done), None)
            if module is None:
                done.add(path.pop())
                pending.pop()
            elif module in path:
                return [*path[path.index(module) :], module]
            else:
                path.append(module)
                pending.append(iter(sorted(uses[module])))
    return []


def test_no_circle_of_imports():
    files = {}
    for path in ROOT.rglob("*.py"):
        words = ["headrace", *path.relative_to(ROOT).with_suffix("").parts]
        files[".".join(words).removesuffix(".__init__")] = path
    uses = {name: set(at_once(path, set(files))) & set(files) - {name} for name, path in files.items()}
    assert not circle(uses), " -> ".join(circle(uses))


def test_a_circle_is_found():
    assert circle({"a": {"b"}, "b": {"c", "d"}, "c": set(), "d": {"b"}}) == ["b", "d", "b"]
    assert circle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


# -- why -------------------------------------------------------------------------------------------
EXPLAINED = "plan passes placement partition codegen runtime devices session distributed".split()
LONG = 15  # lines


def long_functions(tree: ast.AST, is_said: bool = False):
    """Those without a word about them.  An `__init__` is its class's, and a function inside of another one is
    explained with that."""
    for node in ast.iter_child_nodes(tree):
        said = is_said
        if isinstance(node, ast.ClassDef):
            said = bool(ast.get_docstring(node))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            said = bool(ast.get_docstring(node)) or (is_said and is_made_by(tree, node))
            if not said and (node.end_lineno or 0) - node.lineno + 1 >= LONG:
                yield node
        yield from long_functions(node, said)


def is_made_by(tree: ast.AST, function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return not isinstance(tree, ast.ClassDef) or function.name == "__init__"


def test_long_functions_say_what_they_are_for():
    silent = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for folder in EXPLAINED
        for path in sorted((ROOT / folder).rglob("*.py"))
        for node in long_functions(ast.parse(path.read_text()))
    ]
    assert not silent, "\n".join(silent)


# -- where tests stand -----------------------------------------------------------------------------
# Rooms of tests that no single room of the source has, by what they are about.
TOPICS = {"codegen": {"faults", "numbers", "random_graphs"}, "session": {"order_of_state"}}


def homes(test: Path, root: Path) -> list[Path]:
    """Where the source has the module that a test file is named after, in the test's own folder and rooms."""
    name = test.name.removeprefix("test_")
    return [p.relative_to(root) for p in sorted((root / test.parts[0]).rglob(name))]


def misplaced(tests: Path, root: Path) -> list[str]:
    """Tests that do not stand where the module of their name does."""
    found = (p.relative_to(tests) for p in sorted(tests.rglob("test_*.py")))
    wrong = []
    for test in (p for p in found if len(p.parts) > 1):
        places = [place.with_name(test.name) for place in homes(test, root)]
        if places and test not in places:
            wrong.append(f"{test} belongs at {' or '.join(map(str, places))}")
    return wrong


def test_tests_mirror_the_source():
    """The tests of a module are at its place.  Tests of what several modules do together stand in the
    folder that these have in common, under a name that no module has."""
    wrong = misplaced(TESTS, ROOT)
    assert not wrong, "\n".join(wrong)


def test_a_test_at_another_place_is_found(tmp_path):
    for name in ("source/ops/math/cast.py", "tests/ops/test_cast.py", "tests/ops/test_all.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (wrong,) = misplaced(tmp_path / "tests", tmp_path / "source")
    assert wrong.split() == "ops/test_cast.py belongs at ops/math/test_cast.py".replace("/", os.sep).split()


def test_every_test_file_says_what_it_is_of():
    """Also where a name would: several modules can have the same."""
    silent = [
        str(p.relative_to(TESTS))
        for p in sorted(TESTS.rglob("test_*.py"))
        if not ast.get_docstring(ast.parse(p.read_text()))
    ]
    assert not silent, "\n".join(silent)


def test_tests_have_folders_of_the_source():
    """Besides those of the source: the benchmark's, and the model of TensorFlow's state with its programs."""
    folders = {p.name for p in TESTS.iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert folders <= {*ORDER, "bench", "state"}, folders - set(ORDER)
    for folder in folders & set(ORDER):
        rooms = {p.name for p in (ROOT / folder).iterdir() if p.is_dir()}
        inner = {p.parent.relative_to(TESTS / folder).parts[0] for p in (TESTS / folder).glob("*/test_*.py")}
        inner -= TOPICS.get(folder, set())
        assert inner <= rooms, inner - rooms
