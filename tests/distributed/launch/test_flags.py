"""Which flags a program defines, without running it."""

from __future__ import annotations

import pytest

from headrace.distributed.launch.flags import asked_flags
from headrace.distributed.launch.tasks import CLASSIC

FORMS = {
    "tf.app.flags.DEFINE_string('ps_hosts', '', 'text')": {"ps_hosts"},
    "flags.DEFINE_integer(name, 0, 'text')\nflags.DEFINE_integer('task_index', 0, '')": {"task_index"},
    "from absl.flags import DEFINE_string\nDEFINE_string('job_name', None, '')": {"job_name"},
    "parser.add_argument('--ps_hosts', '--ps-hosts')\nparser.add_argument('--task-index', type=int)": {
        "ps_hosts",
        "task_index",
    },
    "print('ps_hosts')\n# DEFINE_string('worker_hosts')": set(),
    "DEFINE_string('my_ps_hosts', '', '')": set(),
    "this is no Python": set(),
    "": set(),
}


@pytest.mark.parametrize("source", FORMS)
def test_forms(tmp_path, source):
    path = tmp_path / "train.py"
    path.write_text(source)
    assert asked_flags([str(path), "--anything"], CLASSIC) == FORMS[source]


def test_modules_beside_it(tmp_path, monkeypatch):
    (tmp_path / "train.py").write_text("import json, settings\nfrom parts import model\nfrom . import more\n")
    (tmp_path / "settings.py").write_text("import train\nDEFINE_string('job_name')\n")
    (tmp_path / "more.py").write_text("DEFINE_string('task_id')\n")
    (tmp_path / "unused.py").write_text("DEFINE_string('task_index')\n")
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "__init__.py").write_text("")
    (tmp_path / "parts" / "model.py").write_text("DEFINE_string('ps_hosts')\n")
    assert asked_flags([str(tmp_path / "train.py")], CLASSIC) == {"job_name", "ps_hosts", "task_id"}
    monkeypatch.syspath_prepend(str(tmp_path))
    assert asked_flags(["-m", "parts.model"], CLASSIC) == {"ps_hosts"}


def test_no_file(tmp_path):
    assert asked_flags([str(tmp_path / "absent.py")], CLASSIC) == frozenset()
    (tmp_path / "binary.py").write_bytes(b"\x00\xff")
    assert asked_flags([str(tmp_path / "binary.py")], CLASSIC) == frozenset()
    (tmp_path / "__main__.py").write_text("DEFINE_string('ps_hosts')\n")
    assert asked_flags([str(tmp_path)], CLASSIC) == {"ps_hosts"}
