"""Reads SavedModels: finds the graph with the wanted tags, imports it, restores the variables, and runs
its init op with the paths of the assets."""

from __future__ import annotations

from typing import Any

from google.protobuf import text_format
from google.protobuf.message import DecodeError

from headrace.core import log
from headrace.core.fields import reads
from headrace.formats import files, proto
from headrace.graph.graph import Graph
from headrace.train.checkpoints.saveable import all_saveable_objects
from headrace.train.checkpoints.saver import Saver
from headrace.train.meta_graph.meta_graph import import_with_elements
from headrace.train.saved_model import assets, places, signatures
from headrace.train.saved_model import saved_model_names as names


def contains_saved_model(export_dir: Any) -> bool:
    """Whether a folder has a SavedModel in it.

    Args:
      export_dir: the folder.
    """
    return files.exists(places.text_path(export_dir)) or files.exists(places.binary_path(export_dir))


def parse_saved_model(export_dir: Any) -> Any:
    """The SavedModel message of a folder, from the binary or the text file.

    Raises:
      IOError: there is none, or it can not be read.
    """
    binary, text = places.binary_path(export_dir), places.text_path(export_dir)
    if files.exists(binary):
        try:
            return proto.SavedModel.FromString(files.read_bytes(binary))
        except DecodeError as error:
            raise OSError(f"Cannot parse file {binary}: {error}.") from None
    if files.exists(text):
        try:
            return proto.from_text(files.read_bytes(text).decode(), proto.SavedModel())
        except (text_format.ParseError, UnicodeDecodeError) as error:
            raise OSError(f"Cannot parse file {text}: {error}.") from None
    raise OSError(
        f"SavedModel file does not exist at: {places.as_text(export_dir)}/"
        f"{{{names.SAVED_MODEL_FILENAME_PBTXT}|{names.SAVED_MODEL_FILENAME_PB}}}"
    )


def load(sess: Any, tags: Any, export_dir: Any, import_scope: str | None = None, **saver_kwargs: Any) -> Any:
    """Load a graph of a SavedModel, with its variables, into a session.

    Args:
      sess: the session.
      tags: exactly the tags that the graph was saved with.
      export_dir: the folder.
      import_scope: the scope to put the graph in.
      **saver_kwargs: more for the import: `input_map`, `return_elements`, ...

    Returns:
      The MetaGraphDef.

    Raises:
      RuntimeError: no graph has these tags.

    Example:
      >>> with tf.Session(graph=tf.Graph()) as sess:
      ...     model = tf.saved_model.load(sess, [tf.saved_model.SERVING], "/tmp/model")
      ...     output = model.signature_def["serving_default"].outputs["y"].name
    """
    return SavedModelLoader(export_dir).load(sess, tags, import_scope, **saver_kwargs)


class SavedModelLoader:
    """The parts of `load`, one by one."""

    def __init__(self, export_dir: Any) -> None:
        self._export_dir = export_dir
        self._variables_path = places.variables_path(export_dir)
        self._saved_model = parse_saved_model(export_dir)

    export_dir: Any = reads("_export_dir")
    variables_path: str = reads("_variables_path")
    saved_model: Any = reads("_saved_model")

    def get_meta_graph_def_from_tags(self, tags: Any) -> Any:
        """The graph with these tags."""
        available = [set(m.meta_info_def.tags) for m in self._saved_model.meta_graphs]
        for message, found in zip(self._saved_model.meta_graphs, available):
            if found == set(tags):
                return message
        raise RuntimeError(
            f"MetaGraphDef associated with tags {str(tags).strip('[]')} could not be found in "
            "SavedModel.\n"
            f"available_tags: {available}"
        )

    def load_graph(
        self, graph: Graph, tags: Any, import_scope: str | None = None, **saver_kwargs: Any
    ) -> tuple[Any, Any]:
        """Import the graph; a Saver for its variables, and the wanted elements."""
        message = self.get_meta_graph_def_from_tags(tags)
        with graph.as_default():
            return import_with_elements(message, import_scope=import_scope, **saver_kwargs)

    def restore_variables(self, sess: Any, saver: Any, import_scope: str | None = None) -> None:
        """Give the variables their values."""
        with sess.graph.as_default():
            if saver is None and not all_saveable_objects(scope=import_scope):
                log.info("The specified SavedModel has no variables; no checkpoints were restored.")
            elif isinstance(saver, Saver):
                saver.restore(sess, self._variables_path)
            else:
                raise ValueError(
                    "The graph has variables, and restore_variables was given no tf.train.Saver to "
                    "read them with."
                )

    def run_init_ops(self, sess: Any, tags: Any, import_scope: str | None = None) -> None:
        """Run what the model wants to run at the start; its assets are where they are now."""
        message = self.get_meta_graph_def_from_tags(tags)
        with sess.graph.as_default():
            feeds = assets.found(self._export_dir, message, import_scope)
            init_op = _init_op(sess.graph, message, import_scope)
            if init_op is not None:
                sess.run(fetches=[init_op], feed_dict=feeds)

    def load(self, sess: Any, tags: Any, import_scope: str | None = None, **saver_kwargs: Any) -> Any:
        """All of it, into a session."""
        graph = sess.graph
        with graph.as_default():
            saver, _elements = self.load_graph(graph, tags, import_scope, **saver_kwargs)
            self.restore_variables(sess, saver, import_scope=import_scope)
            self.run_init_ops(sess, tags, import_scope=import_scope)
        return self.get_meta_graph_def_from_tags(tags)


def _init_op(graph: Graph, message: Any, scope: str | None) -> Any:
    """The node to run at the start: of the signatures, else of the collections."""
    key = names.INIT_OP_SIGNATURE_KEY
    if key in message.signature_def:
        return signatures.load_op_from_signature_def(message.signature_def[key], key, scope)
    for key in (names.MAIN_OP_KEY, names.LEGACY_INIT_OP_KEY):
        if key in message.collection_def:
            found = message.collection_def[key].node_list.value
            if len(found) != 1:
                raise RuntimeError(f"Expected exactly one SavedModel init op. Found: {found}")
            return graph.get_collection(key)[0]
    return None
