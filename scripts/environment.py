"""The project's own environment: made once in .venv, made anew when pyproject.toml changes."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / ".venv"
PYTHON = HOME / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def python(extras: str = "") -> str:
    """The environment's interpreter, with the project and these extras installed."""
    if sys.version_info < (3, 10):  # noqa: UP036  (a clear word to whoever runs an older one)
        sys.exit(f"headrace needs Python 3.10 or newer, this is {sys.version.split()[0]}")
    wanted = hashlib.sha256((ROOT / "pyproject.toml").read_bytes() + extras.encode()).hexdigest()
    stamp = HOME / f"installed-{extras or 'plain'}"
    if not (PYTHON.exists() and stamp.exists() and stamp.read_text() == wanted):
        install(extras)
        stamp.write_text(wanted)
    # As after any other installation: else every process compiles what it imports anew where the shell says
    # PYTHONDONTWRITEBYTECODE.
    run([str(PYTHON), "-m", "compileall", "-q", "headrace"])
    return str(PYTHON)


def install(extras: str) -> None:
    print(f"installing into {HOME.name}/ ...", flush=True)
    if not PYTHON.exists():
        venv.create(HOME, with_pip=True)
    what = f"{ROOT}[{extras}]" if extras else str(ROOT)
    command = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run([*command, "--editable", what])
    if done.returncode:
        sys.exit("pip could not install the project; its messages are above")


def run(command: list[str], **variables: str) -> int:
    return subprocess.run(command, cwd=ROOT, env=os.environ | variables).returncode
