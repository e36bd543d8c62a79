"""docs/compatibility.md is what scripts/compatibility would write now."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.process
def test_the_page_is_up_to_date():
    command = [sys.executable, str(ROOT / "scripts" / "compatibility"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
