"""Graphs as files."""

from __future__ import annotations

import os
from typing import Any

from headrace.formats import files, proto


def write_graph(graph_or_graph_def: Any, logdir: Any, name: str, as_text: bool = True) -> str:
    """Write a graph (or any message) to a file.

    Args:
      graph_or_graph_def: a tf.Graph or a message.
      logdir: the folder; made where it does not exist.
      name: the file's name.
      as_text: text format instead of bytes.

    Returns: the path.

    Example:
      >>> tf.io.write_graph(sess.graph, "/tmp/my-model", "train.pbtxt")
    """
    message = graph_or_graph_def
    if hasattr(message, "as_graph_def"):
        message = message.as_graph_def()
    folder = files.local(logdir)
    if folder and not files.isdir(folder):
        files.makedirs(folder)
    path = os.path.join(folder, name)
    # Readers, TensorBoard among them, must never see half of a file.
    files.write_whole(path, proto.to_text(message) if as_text else message.SerializeToString())
    return path
