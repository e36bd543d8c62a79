"""headrace contrib: a wheel's files in the cache, whole or not at all."""

from __future__ import annotations

import base64
import hashlib
import zipfile

import pytest

from headrace.api import wheel
from headrace.tools import contrib

FILES = {
    "tensorflow_core/contrib/made_up/__init__.py": (
        b"from tensorflow.contrib.made_up.python.half import half\n"
        b"from tensorflow.python.util.all_util import remove_undocumented\n"
        b"remove_undocumented(__name__, ['half'])\n"
    ),
    "tensorflow_core/contrib/made_up/python/__init__.py": b"",
    "tensorflow_core/contrib/made_up/python/half.py": (
        b"from tensorflow.python.ops import math_ops\n"
        b"from tensorflow.contrib.framework import arg_scope\n"
        b"def half(x): return math_ops.divide(x, 2.)\n"
    ),
    "tensorflow_core/contrib/framework/__init__.py": b"only_theirs = 5\n",
    "tensorflow_core/python/not_wanted.py": b"",
}


def digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def made(path, files, record=None):
    lines = [f"{name},sha256={digest(data)},{len(data)}" for name, data in (record or files).items()]
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
        archive.writestr("tensorflow-1.15.5.dist-info/RECORD", "\n".join(lines))
        archive.writestr("tensorflow-1.15.5.dist-info/METADATA", "License: Apache 2.0\n")
    return str(path)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_install(tmp_path, cache, capsys):
    assert contrib.main(["status"]) == 1
    assert contrib.main(["install", "--wheel", made(tmp_path / "w.whl", FILES)]) == 0
    there = sorted(str(p.relative_to(wheel.folder())) for p in wheel.folder().rglob("*") if p.is_file())
    assert there == [
        "METADATA",
        *(n.removeprefix("tensorflow_core/") for n in sorted(FILES) if "contrib" in n),
    ]
    assert contrib.main(["install"]) == 0 and "installed before" in capsys.readouterr().out
    assert contrib.main(["remove"]) == 0 and not wheel.folder().exists()


@pytest.mark.parametrize(
    "spoil, message",
    [
        (lambda path: path.write_bytes(path.read_bytes()[:200]), "not a zip file"),
        (
            lambda path: made(path, {**FILES, "tensorflow_core/contrib/made_up/__init__.py": b"x"}, FILES),
            "RECORD",
        ),
        (lambda path: made(path, dict(list(FILES.items())[1:]), FILES), "lacks"),
        (lambda path: made(path, {"a.py": b""}), "has no tensorflow_core/contrib"),
        (lambda path: path.unlink(), "No such file"),
    ],
)
def test_nothing_is_half_installed(tmp_path, cache, capsys, spoil, message):
    path = tmp_path / "w.whl"
    made(path, FILES)
    spoil(path)
    assert contrib.main(["install", "--wheel", str(path)]) == 1
    said = capsys.readouterr().err
    assert message in said and "nothing was installed" in said
    assert list(cache.iterdir()) == []


def test_packages_of_the_wheel_run_on_our_modules(tmp_path, cache):
    contrib.main(["install", "--wheel", made(tmp_path / "w.whl", FILES)])
    import subprocess
    import sys

    text = (
        "import headrace.as_tensorflow, tensorflow as tf\n"
        "from tensorflow.contrib.made_up.python import half as module\n"
        "y = tf.contrib.made_up.half(tf.constant(3.))\n"
        "assert module.arg_scope is tf.contrib.framework.arg_scope\n"
        "assert tf.contrib.framework.only_theirs == 5\n"
        "print(tf.Session().run(y))\n"
        "try: tf.contrib.tensorrt.create_inference_graph\n"
        "except AttributeError as e: print(e)\n"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120)
    lines = done.stdout.splitlines()
    assert lines[:1] == ["1.5"], done.stderr
    assert "it needs native code or a service" in lines[1]


def test_without_it_the_error_names_the_command(cache):
    import headrace as tf

    with pytest.raises(AttributeError, match="headrace contrib install"):
        tf.contrib.timeseries.ARRegressor  # noqa: B018
