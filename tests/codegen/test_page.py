"""headrace/codegen/README.md shows what the compiler prints now."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from headrace.codegen.machine import target

ROOT = Path(__file__).parents[2]


@pytest.mark.native
@pytest.mark.process
@pytest.mark.skipif(not target.is_available(), reason="no LLVM: nothing is compiled")
def test_the_page_is_what_is_printed():
    found = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "compiler_page"), "--check"],
        text=True,
        capture_output=True,
        timeout=300,
    )
    assert found.returncode == 0, found.stdout + found.stderr
