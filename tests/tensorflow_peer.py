"""TensorFlow in a process of its own, for tests that compare with it: `tensorflow(folder, program)`.

Needs HEADRACE_TF_PYTHON, an interpreter with TensorFlow 2.  TensorFlow is imported once; each program runs
in a fork of that process, so that it finds a fresh TensorFlow without waiting for it.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import textwrap
from functools import cache
from typing import Any

import pytest

TF_PYTHON = os.environ.get("HEADRACE_TF_PYTHON")
needs_tensorflow = pytest.mark.skipif(
    not TF_PYTHON, reason="HEADRACE_TF_PYTHON does not name an interpreter with TensorFlow"
)
_SECONDS = 900  # much of TensorFlow on a busy machine
_SERVER = """
import json, os, sys, traceback
import numpy as np
import tensorflow as tf
print("ready", flush=True)
for line in sys.stdin:
    folder, program = json.loads(line)
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        code = 0
        try:
            os.close(out)
            os.chdir(folder)
            os.dup2(into, 1)
            os.dup2(into, 2)
            names = {"json": json, "os": os, "np": np, "tf": tf, "v1": tf.compat.v1}
            path = os.path.abspath("program.py")  # functions are traced from their source
            with open(path, "w") as file:
                file.write(program)
            exec(compile(program, path, "exec"), names)
        except BaseException:
            traceback.print_exc()
            code = 1
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    os.close(into)
    with os.fdopen(out) as file:
        text = file.read()
    print(json.dumps([os.waitpid(child, 0)[1], text]), flush=True)
"""


@cache
def _server() -> Any:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    server = subprocess.Popen(
        [str(TF_PYTHON), "-c", _SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment | {"TF_CPP_MIN_LOG_LEVEL": "3"},
    )
    assert _line(server) == "ready\n", "TensorFlow can not be imported"
    return server


def _line(server: Any) -> str:
    assert select.select([server.stdout], [], [], _SECONDS)[0], "TensorFlow does not answer"
    return str(server.stdout.readline())


def tensorflow(folder: Any, program: str) -> Any:
    """Run a program with TensorFlow in a folder; returns the JSON in the last line that it prints.

    It has the names tf, v1 (tf.compat.v1), np, os and json."""
    server = _server()
    server.stdin.write(json.dumps([str(folder), textwrap.dedent(program)]) + "\n")
    server.stdin.flush()
    code, text = json.loads(_line(server))
    assert code == 0, text
    return json.loads(text.strip().splitlines()[-1])
