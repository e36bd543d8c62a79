"""Writes SavedModels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.core import log
from headrace.core.families import documented, takes
from headrace.formats import durable, files, proto
from headrace.graph.defaults import get_default_graph
from headrace.graph.node import Node
from headrace.train.checkpoints.saveable import all_saveable_objects
from headrace.train.checkpoints.saver import Saver
from headrace.train.saved_model import assets, places
from headrace.train.saved_model import saved_model_names as names

_ARGUMENTS = """
    Args:
      {}tags: words by which a loader finds the graph.
      signature_def_map: signatures by name.
      assets_collection: constant tensors with paths of files that the model needs.
      legacy_init_op: old name of `main_op`.
      clear_devices: without devices.
      main_op: a node to run when the model was loaded.
      strip_default_attrs: without attributes that have their default value.
      saver: {} the variables; one for all of them if None.

    Raises:
      AssertionError: {}, or a signature is not complete.
"""


def _graph_and(
    tags: Sequence[str] | None,
    signature_def_map: Mapping[str, Any] | None = None,
    assets_collection: Any = None,
    legacy_init_op: Any = None,
    clear_devices: bool = False,
    main_op: Any = None,
    strip_default_attrs: bool = False,
    saver: Any = None,
) -> None:
    """What is said of a graph that is added."""


class SavedModelBuilder:
    """Writes a SavedModel: several graphs (each with tags) that share one set of variables.

    The first graph comes with the variables (`add_meta_graph_and_variables`), the others without
    (`add_meta_graph`); `save` writes the model.

    Example:
      >>> builder = tf.saved_model.Builder("/tmp/model")
      >>> with tf.Session() as sess:
      ...     sess.run(tf.global_variables_initializer())
      ...     builder.add_meta_graph_and_variables(sess, [tf.saved_model.SERVING])
      >>> builder.save()
    """

    def __init__(self, export_dir: Any) -> None:
        """Args:
        export_dir: a folder that does not exist or is empty.

        Raises:
          AssertionError: the folder has something in it.
        """
        self._saved_model = proto.SavedModel(saved_model_schema_version=names.SAVED_MODEL_SCHEMA_VERSION)
        self._export_dir = export_dir
        if files.exists(export_dir) and files.listdir(export_dir):
            raise AssertionError(
                "Export directory already exists, and isn't empty: "
                f"{export_dir}. A model is written into a new directory."
            )
        files.makedirs(export_dir)
        self._has_saved_variables = False

    @documented(_ARGUMENTS.format("sess: the session.\n      ", "writes", "variables were written before"))
    @takes(_graph_and, first="self sess")
    def add_meta_graph_and_variables(self, sess: Any, saver: Any, **given: Any) -> None:
        """Add the default graph, and write the variables of a session."""
        if self._has_saved_variables:
            raise AssertionError(
                "Graph state including variables and assets has already been saved. Please invoke "
                "`add_meta_graph()` instead."
            )
        signatures = self._prepared(**given)
        places.made(places.variables_folder(self._export_dir))
        saver = saver or _new_saver()
        path = places.variables_path(self._export_dir)
        saver.save(sess, path, write_meta_graph=False, write_state=False)
        self._add(saver, signatures, **given)
        self._has_saved_variables = True

    @documented(_ARGUMENTS.format("", "reads", "no variables were written yet"))
    @takes(_graph_and, first="self")
    def add_meta_graph(self, saver: Any, **given: Any) -> None:
        """Add the default graph; its variables were written with the first."""
        if not self._has_saved_variables:
            raise AssertionError(
                "Graph state including variables and assets has not been saved yet. Please invoke "
                "`add_meta_graph_and_variables()` first."
            )
        signatures = self._prepared(**given)
        self._add(saver or _new_saver(), signatures, **given)

    def save(self, as_text: bool = False) -> bytes:
        """Write the model.

        Args:
          as_text: in text format.

        Returns:
          The path of the file.
        """
        files.makedirs(self._export_dir)
        if as_text:
            path = places.text_path(self._export_dir)
            durable.write(path, proto.to_text(self._saved_model))
        else:
            path = places.binary_path(self._export_dir)
            durable.write(path, self._saved_model.SerializeToString())
        log.info("SavedModel written to: %s", path)
        return path.encode()

    # -- parts ---------------------------------------------------------------------------------
    def _add_collections(self, assets_collection: Any, main_op: Any) -> None:
        assets.copy(assets.collect(assets_collection), self._export_dir)
        if main_op is None:
            return
        if not isinstance(main_op, Node):
            raise TypeError(f"main_op needs to be an Operation: {main_op!r}")
        graph = get_default_graph()
        for key in (names.MAIN_OP_KEY, names.LEGACY_INIT_OP_KEY):
            if graph.get_collection(key):
                raise ValueError(f"Graph already contains one or more main ops under the collection {key}.")
        graph.add_to_collection(names.MAIN_OP_KEY, main_op)

    def _prepared(self, signature_def_map: Any, assets_collection: Any, **given: Any) -> dict[str, Any]:
        """The signatures, once what else the graph needs is in its collections."""
        signatures = _checked(signature_def_map)
        self._add_collections(assets_collection, given["main_op"] or given["legacy_init_op"])
        return signatures

    def _add(
        self, saver: Any, signatures: Any, tags: Any, clear_devices: bool, strip_default_attrs: bool, **_: Any
    ) -> None:
        message = saver.export_meta_graph(
            clear_devices=clear_devices, strip_default_attrs=strip_default_attrs
        )
        message.meta_info_def.tags.extend(tags)
        for key, signature in signatures.items():
            message.signature_def[key].CopyFrom(signature)
        self._saved_model.meta_graphs.add().CopyFrom(message)


def _new_saver() -> Saver:
    return Saver(all_saveable_objects(), sharded=True, write_version=proto.SaverDef.V2, allow_empty=True)


def _checked(signatures: Any) -> dict[str, Any]:
    """The signatures, if they are complete."""
    found = dict(signatures or {})
    for signature in found.values():
        for info in [*signature.inputs.values(), *signature.outputs.values()]:
            _check_tensor_info(info)
    for key, what in (
        (names.INIT_OP_SIGNATURE_KEY, "initialization"),
        (names.TRAIN_OP_SIGNATURE_KEY, "the train op"),
    ):
        if key in found:
            raise KeyError(
                f'SignatureDef map key "{key}" is reserved for {what}. Please use a different key.'
            )
    return found


def _check_tensor_info(info: Any) -> None:
    if info is None:
        raise AssertionError(
            "All TensorInfo protos used in the SignatureDefs must have the name and dtype fields set."
        )
    encoding = info.WhichOneof("encoding")
    if encoding is None:
        raise AssertionError(
            f"A signature's TensorInfo has none of the 'encoding' fields that lead to a tensor: {info}"
        )
    if encoding == "composite_tensor":
        for part in info.composite_tensor.components:
            _check_tensor_info(part)
    elif not info.dtype:
        raise AssertionError(
            f"All TensorInfo protos used in the SignatureDefs must have the dtype field set: {info}"
        )
