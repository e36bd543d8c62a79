"""The pictures of ARCHITECTURE.md show the tree as it is."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.process
def test_pictures_are_up_to_date():
    found = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "pictures"), "--check"],
        text=True,
        capture_output=True,
        timeout=60,
    )
    assert found.returncode == 0, found.stdout + found.stderr


def test_the_house_has_every_folder():
    tree = ElementTree.parse(ROOT / "docs" / "pictures" / "house.svg")
    drawn = {(element.text or "").removesuffix("/") for element in tree.iter()}
    folders = {p.name for p in (ROOT / "headrace").iterdir() if (p / "__init__.py").exists()}
    assert folders <= drawn, folders - drawn
