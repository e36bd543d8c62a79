"""Modules that are imported when they are first used."""

from __future__ import annotations

import sys

import pytest

from headrace.core.modules import late


def test_imported_by_the_first_use(tmp_path, monkeypatch):
    (tmp_path / "used_late.py").write_text("number = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    module = late("used_late")
    assert "used_late" not in sys.modules
    assert module.number == 1
    sys.modules["used_late"].number = 2
    assert module.number == 2  # its names are asked for each time
    assert repr(module) == "<late module used_late>"
    monkeypatch.delitem(sys.modules, "used_late")


def test_what_is_missing():
    with pytest.raises(AttributeError, match="no_such_name"):
        late("headrace.core.shapes").no_such_name  # noqa: B018
    with pytest.raises(ModuleNotFoundError):
        late("headrace.no_such_module").name  # noqa: B018
