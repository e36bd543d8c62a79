"""tf.train.Saver: variables to checkpoints and back.

Saving: the data, then the meta graph, then the file `checkpoint`, which names only what is complete; last,
old checkpoints are deleted.  Whatever is interrupted, the newest complete checkpoint is found and restored.
"""

from __future__ import annotations

import math
import numbers
import os
import time
from collections.abc import Iterable
from typing import Any

from headrace.core import log
from headrace.core.errors import FailedPreconditionError, InvalidArgumentError, NotFoundError, OpError
from headrace.core.families import takes
from headrace.formats import files, proto
from headrace.graph.defaults import get_default_graph
from headrace.graph.keys import GraphKeys
from headrace.graph.scope_names import add_scope, strip_scope
from headrace.ops.declaration.traits import CONSTANT
from headrace.ops.graphdef.import_export import GraphTooLarge
from headrace.ops.strings.basic import string_join
from headrace.session.base import BaseSession
from headrace.train.checkpoints import checkpoint_files, saveable
from headrace.train.checkpoints.object_names import object_graph_key_mapping, saver_for_objects
from headrace.train.checkpoints.restore_check import check_shapes
from headrace.train.checkpoints.saver_builder import V2, BulkSaverBuilder
from headrace.train.meta_graph.meta_graph import export_meta_graph
from headrace.train.schedules.step_count import global_step as step_number

_NAMES = ("filename_tensor_name", "save_tensor_name", "restore_op_name")
_HOUR = 3600


class Saver:
    """Saves variables to checkpoints, and restores them.

    A checkpoint holds tensors by name.  A saver keeps the newest ones and deletes older ones; a file
    `checkpoint` beside them says which there are (`tf.train.latest_checkpoint`).

    Args:
      var_list: variables and objects to save: a list, or a dict by the names to save them under.
        All variables of the graph if None.
      reshape: restore values into variables of other shapes with as many elements.
      sharded: every device writes a file of its own.
      max_to_keep: how many checkpoints to keep; all if None or 0.
      keep_checkpoint_every_n_hours: beyond that, keep one every so many hours.
      name: scope of the nodes.
      restore_sequentially: one variable after the other.
      saver_def: a SaverDef whose nodes are in the graph already.
      builder: makes the nodes; a `BulkSaverBuilder` if None.
      defer_build: make no nodes before `build` is called.
      allow_empty: without variables, do nothing instead of refusing.
      write_version: SaverDef.V2, or V1 for the old format.
      pad_step_number: step numbers of eight digits in names.
      save_relative_paths: write relative paths to the file `checkpoint`.
      filename: the name that the nodes use where none is fed.

    Raises:
      TypeError: `var_list` holds something that can not be saved.
      ValueError: two have one name, one has two names, or there is nothing to save.

    Example:
      >>> saver = tf.train.Saver(max_to_keep=3)
      >>> saver.save(sess, "/tmp/model", global_step=100)
      '/tmp/model-100'
      >>> saver.restore(sess, tf.train.latest_checkpoint("/tmp"))
    """

    def __init__(
        self,
        var_list: Iterable[Any] | None = None,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        saver_def: Any = None,
        builder: Any = None,
        defer_build: bool = False,
        allow_empty: bool = False,
        write_version: int = V2,
        pad_step_number: bool = False,
        save_relative_paths: bool = False,
        filename: Any = None,
    ) -> None:
        if defer_build and var_list:
            raise ValueError(
                "If `var_list` is provided then build cannot be deferred. Either set "
                "defer_build=False or var_list=None."
            )
        self._var_list, self._builder, self.saver_def = var_list, builder, saver_def
        self._reshape, self._sharded, self._name = reshape, sharded, name
        self._max_to_keep, self._keep_hours = max_to_keep, keep_checkpoint_every_n_hours
        self._restore_sequentially, self._filename = restore_sequentially, filename
        self._allow_empty, self._write_version = allow_empty, write_version
        self._pad_step_number, self._save_relative_paths = pad_step_number, save_relative_paths
        self._is_built, self._is_empty = False, False
        self._last_checkpoints: list[tuple[str, float]] = []
        self._to_be_deleted: list[tuple[str, float]] = []
        self._next_kept = math.inf
        self._object_saver: Saver | None = None
        if not defer_build:
            self.build()
        if self.saver_def:
            self._check_saver_def()
            self._write_version = self.saver_def.version

    # -- nodes -----------------------------------------------------------------------------------
    def build(self) -> None:
        """Add the nodes, where that was deferred."""
        if self._is_built:
            return
        self._is_built = True
        if self.saver_def is None:
            if not self._build_nodes():
                return
        elif self._name:
            for field in _NAMES:
                inside = add_scope(getattr(self.saver_def, field), self._name)
                setattr(self.saver_def, field, inside)
        self._check_saver_def()
        self._next_kept = time.time() + self.saver_def.keep_checkpoint_every_n_hours * _HOUR

    def _build_nodes(self) -> bool:
        """False where there is nothing to save, and that is allowed."""
        if self._builder is None:
            self._builder = BulkSaverBuilder(self._write_version)
        if self._var_list is None:
            self._var_list = saveable.all_saveable_objects()
        if not self._var_list:
            if not self._allow_empty:
                raise ValueError("No variables to save")
            self._is_empty = True
            return False
        self.saver_def = self._builder.build(
            self._var_list,
            reshape=self._reshape,
            sharded=self._sharded,
            max_to_keep=self._max_to_keep,
            keep_checkpoint_every_n_hours=self._keep_hours,
            name=self._name,
            restore_sequentially=self._restore_sequentially,
            filename=self._filename,
        )
        return True

    def _check_saver_def(self) -> None:
        if not isinstance(self.saver_def, proto.SaverDef):
            raise ValueError(f"saver_def must be a saver_pb2.SaverDef: {self.saver_def}")
        for field in _NAMES[1:]:
            if not getattr(self.saver_def, field):
                raise ValueError(f"saver_def must specify the {field}: {self.saver_def}")

    def as_saver_def(self) -> Any:
        """The SaverDef of this saver."""
        return self.saver_def

    def to_proto(self, export_scope: str | None = None) -> Any:
        """The SaverDef, with names as seen from inside a scope; None where it is not in it."""
        if export_scope is None:
            return self.saver_def
        if not all(getattr(self.saver_def, f).startswith(export_scope) for f in _NAMES):
            return None
        message = proto.SaverDef()
        message.CopyFrom(self.saver_def)
        for field in _NAMES:
            setattr(message, field, strip_scope(getattr(message, field), export_scope))
        return message

    @staticmethod
    def from_proto(saver_def: Any, import_scope: str | None = None) -> Saver:
        """The saver of a SaverDef."""
        return Saver(saver_def=saver_def, name=import_scope)

    # -- which checkpoints there are -------------------------------------------------------------
    @property
    def last_checkpoints(self) -> list[str]:
        """Paths of the checkpoints that are kept, the newest last."""
        return [path for path, _ in self._last_checkpoints]

    def set_last_checkpoints(self, last_checkpoints: list[str]) -> None:
        """Say which checkpoints there are; those are never deleted (an old way)."""
        assert isinstance(last_checkpoints, list)
        self._last_checkpoints = [(path, math.inf) for path in last_checkpoints]

    def set_last_checkpoints_with_time(self, last_checkpoints_with_time: Any) -> None:
        """Say which checkpoints there are, and when they were saved: (path, seconds)."""
        assert isinstance(last_checkpoints_with_time, list)
        self._last_checkpoints = last_checkpoints_with_time

    def recover_last_checkpoints(self, checkpoint_paths: Any) -> None:
        """Take over the checkpoints of an earlier run, as far as they exist."""
        found = []
        for path in checkpoint_paths:
            times = checkpoint_files.get_checkpoint_mtimes([path])
            if times:
                found.append((path, times[0]))
        self.set_last_checkpoints_with_time(found)

    def _remember(self, path: str) -> None:
        if not self.saver_def.max_to_keep:
            return
        self._last_checkpoints = [p for p in self._last_checkpoints if p[0] != path]
        self._last_checkpoints.append((path, time.time()))
        if len(self._last_checkpoints) > self.saver_def.max_to_keep:
            self._to_be_deleted.append(self._last_checkpoints.pop(0))

    def _delete_old(self, meta_graph_suffix: str) -> None:
        if not self._to_be_deleted:
            return
        path, saved = self._to_be_deleted.pop(0)
        if saved > self._next_kept:
            self._next_kept += self.saver_def.keep_checkpoint_every_n_hours * _HOUR
            return
        try:
            checkpoint_files.remove_checkpoint(path, self.saver_def.version, meta_graph_suffix)
        except OpError as error:  # training goes on without that space
            log.warning("Ignoring: %s", error)

    # -- saving ----------------------------------------------------------------------------------
    def save(
        self,
        sess: Any,
        save_path: str,
        global_step: Any = None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> str | None:
        """Save the variables.

        Args:
          sess: a session in which they are initialised.
          save_path: beginning of the names of the files.
          global_step: a number (or a tensor, or its name) to add to the name.
          latest_filename: the name of the state file; "checkpoint" if None.
          meta_graph_suffix: the ending of the meta graph's file.
          write_meta_graph: also write the graph.
          write_state: also write the state file.
          strip_default_attrs: the graph without attributes that have their default value.
          save_debug_info: also write which lines made the nodes.

        Returns: the path of the checkpoint, for `restore`; None where there is nothing to save.

        Raises:
          TypeError: `sess` is no session.
          ValueError: names collide, or there is no folder to save in.
          RuntimeError: `build` was deferred and not called.
        """
        if not self._is_built:
            raise RuntimeError("`build()` should be called before save if defer_build==True")
        latest_filename = latest_filename or "checkpoint"
        if self._write_version != V2:
            log.warning(
                "Checkpoints of format V1 are large and slow; "
                "tf.train.Saver(write_version=tf.train.SaverDef.V2) writes the newer format."
            )
        if os.path.split(latest_filename)[0]:
            raise ValueError("'latest_filename' must not contain path components")
        save_path = os.fspath(save_path)
        target = self._target(sess, save_path, global_step, latest_filename)
        if not isinstance(sess, BaseSession):
            raise TypeError(f"'sess' must be a Session; {sess}")
        saved = None if self._is_empty else self._run_save(sess, save_path, target)
        if write_meta_graph:
            path = checkpoint_files.meta_graph_filename(target, meta_graph_suffix)
            self._write_meta_graph(sess, path, strip_default_attrs, save_debug_info)
        if saved is not None and write_state:
            self._remember(saved)
            checkpoint_files.write_state(
                os.path.dirname(save_path),
                saved,
                self.last_checkpoints,
                latest_filename,
                relative=self._save_relative_paths,
            )
            self._delete_old(meta_graph_suffix)
        return saved

    def _write_meta_graph(self, sess: Any, path: str, strips: bool, debugs: bool) -> None:
        with sess.graph.as_default():
            try:
                self.export_meta_graph(path, strip_default_attrs=strips, save_debug_info=debugs)
            except GraphTooLarge as error:  # values are saved nevertheless
                log.warning("%s is not written: %s", path, error)

    def _target(self, sess: Any, save_path: str, step: Any, latest_filename: str) -> str:
        """The path, with the number of the step."""
        if step is not None:
            if not isinstance(step, numbers.Integral):
                step = step_number(sess, step)
            return f"{save_path}-{step:08d}" if self._pad_step_number else f"{save_path}-{step:d}"
        if os.path.basename(save_path) == latest_filename and not self._sharded:
            raise ValueError(
                f"'latest_filename' collides with 'save_path': '{latest_filename}' and '{save_path}'"
            )
        return save_path

    def _run_save(self, sess: Any, save_path: str, target: str) -> str:
        names = self.saver_def
        try:
            saved = sess.run(names.save_tensor_name, {names.filename_tensor_name: target})
        except OpError as error:
            self._discard_shards(sess.graph, target)
            folder = os.path.dirname(save_path)
            is_place = isinstance(error, (FailedPreconditionError, NotFoundError))
            if is_place and folder and not files.isdir(folder):
                raise ValueError(f"Parent directory of {save_path} doesn't exist, can't save.") from None
            raise
        return saved.decode() if isinstance(saved, bytes) else str(saved)

    def _discard_shards(self, graph: Any, target: str) -> None:
        """Delete what a sharded save that failed has written beside: a full disk needs the room."""
        file = graph.get_tensor_by_name(self.saver_def.filename_tensor_name)
        for node in file.consumers():
            if node.declaration is string_join and CONSTANT in node.inputs[1].op.declaration.traits:
                suffix = node.inputs[1].op.attrs["value"].array.item().decode()
                folder = f"{target}{suffix}".rpartition("/")[0]
                if suffix.startswith("_temp_") and files.isdir(folder):
                    files.rmtree(folder)

    @takes(export_meta_graph, "meta_info_def", "graph_def", "saver_def", "graph", "kwargs", first="self")
    def export_meta_graph(self, **options: Any) -> Any:
        """The MetaGraphDef of the default graph with this saver; also written to a file.

        Args: see `tf.train.export_meta_graph`.
        """
        nodes = get_default_graph().as_graph_def(add_shapes=True)
        return export_meta_graph(graph_def=nodes, saver_def=self.saver_def, **options)

    # -- restoring -------------------------------------------------------------------------------
    def restore(self, sess: Any, save_path: Any) -> None:
        """Give the variables the values in a checkpoint; they need not be initialised.

        Args:
          sess: the session.
          save_path: the path of the checkpoint, as `save` or `latest_checkpoint` returned it.

        Raises:
          ValueError: there is no such checkpoint.
          NotFoundError: it lacks a variable.
          InvalidArgumentError: a variable has another type or shape there.
          DataLossError: it is damaged.  Variables keep their values in all these cases.
        """
        if self._is_empty:
            return
        if save_path is None:
            raise ValueError("Can't load save_path when it is None.")
        path = save_path.decode() if isinstance(save_path, bytes) else os.fspath(save_path)
        if not checkpoint_files.checkpoint_exists(path):
            raise ValueError(f"The passed save_path is not a valid checkpoint: {path}")
        log.info("Restoring parameters from %s", path)
        names = self.saver_def
        try:
            check_shapes(sess.graph.get_operation_by_name(names.restore_op_name), path)
            sess.run(names.restore_op_name, {names.filename_tensor_name: path})
        except NotFoundError as error:
            self._restore_objects(sess, path, error)
        except InvalidArgumentError as error:
            raise _explained(error, "a mismatch between the current graph and the graph") from error

    def _restore_objects(self, sess: Any, path: str, error: NotFoundError) -> None:
        """A checkpoint of tf.train.Checkpoint has other names; it says which belong to which."""
        try:
            keys = object_graph_key_mapping(path)
        except NotFoundError:
            reason = "a Variable name or other graph key that is missing"
            raise _explained(error, reason) from error
        log.warning(
            "Restoring an object-based checkpoint using a name-based saver. This may be somewhat "
            "fragile, and will re-build the Saver. Instead, consider loading object-based "
            "checkpoints using tf.train.Checkpoint()."
        )
        self._object_saver = saver_for_objects(
            Saver, path, self._var_list, names_to_keys=keys, cached_saver=self._object_saver
        )
        self._object_saver.restore(sess, path)


def _explained(error: Any, reason: str) -> Any:
    return type(error)(
        error.node_def,
        error.op,
        f"Restoring from checkpoint failed. This is most likely due to {reason} from the "
        "checkpoint. Please ensure that you have not altered the graph expected based on the "
        f"checkpoint. Original error:\n\n{error.message}",
    )


def saver_or_default() -> Saver:
    """The saver in the collection `savers`, or a new one for all variables.

    Raises:
      RuntimeError: there are several.
    """
    graph = get_default_graph()
    savers = graph.get_collection(GraphKeys.SAVERS)
    if len(savers) > 1:
        raise RuntimeError(
            f"More than one item in collection {GraphKeys.SAVERS}. Please indicate which one to "
            "use by passing it to the constructor."
        )
    if savers:
        found: Saver = savers[0]
        return found
    saver = Saver(sharded=True, allow_empty=True)
    graph.add_to_collection(GraphKeys.SAVERS, saver)
    return saver
