"""Events that can not be written are lost, and nothing else: no step waits for them, no writer hangs."""

from __future__ import annotations

import shutil
import threading

import headrace as tf
from headrace.core import log
from headrace.formats.records.events import EventsWriter
from tests.timing import PATIENCE


def summary(value):
    return tf.Summary(value=[tf.Summary.Value(tag="loss", simple_value=value)])


def finishes(work):
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    return not thread.is_alive()


def test_a_deleted_file_is_said_once_and_closing_ends(tmp_path, monkeypatch):
    said = []
    monkeypatch.setattr(log, "warning", lambda *args: said.append(args[0] % args[1:]))
    writer = tf.summary.FileWriter(str(tmp_path / "logs"))
    writer.add_summary(summary(1.0), 1)
    writer.flush()
    shutil.rmtree(tmp_path / "logs")

    def work():
        for step in range(50):  # more than may wait
            writer.add_summary(summary(2.0), step)
        writer.flush()
        writer.close()
        writer.close()

    assert finishes(work)
    assert len(said) == 1 and "has disappeared" in said[0]


def test_a_full_disk_does_not_stop_training(tmp_path, monkeypatch):
    monkeypatch.setattr(log, "warning", lambda *args: None)
    writer = tf.summary.FileWriter(str(tmp_path))

    def full(self, event):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(EventsWriter, "write", full)
    assert finishes(lambda: [writer.add_summary(summary(1.0), step) for step in range(50)] and writer.flush())
    monkeypatch.undo()
    writer.add_summary(summary(3.0), 99)
    writer.close()
    assert [e.step for e in tf.contrib.testing.latest_summaries(tmp_path)] == [99]
