"""The nodes of a saver: one path saves, one restores.  In: what is to be saved.  Out: a SaverDef."""

from __future__ import annotations

import uuid
from collections import defaultdict
from typing import Any

from headrace.core.device_name import canonical
from headrace.formats import proto
from headrace.functions.array.array import placeholder_with_default
from headrace.functions.control.grouping import group, with_dependencies
from headrace.functions.values.structure import name_scope
from headrace.graph.defaults import get_default_graph
from headrace.graph.tensor import Tensor
from headrace.ops.array.constant import constant
from headrace.ops.array.source import identity
from headrace.ops.declaration.array import shape as shape_of
from headrace.ops.io import checkpoint, checkpoint_v1
from headrace.ops.strings import basic
from headrace.train.checkpoints import saveable as saving
from headrace.train.checkpoints.saveable import SaveableObject, SaveSpec
from headrace.variables.partitioned import PartitionedVariable

LEGACY, V1, V2 = 0, 1, 2  # SaverDef.CheckpointFormatVersion

Saveables = list[SaveableObject]
PerDevice = list[tuple[str, Saveables]]


class BaseSaverBuilder:
    """Makes the nodes of a saver; subclasses may make others."""

    SaveSpec = SaveSpec
    SaveableObject = SaveableObject
    VariableSaveable = saving.ReferenceVariableSaveable
    ResourceVariableSaveable = saving.ResourceVariableSaveable

    def __init__(self, write_version: int = V2) -> None:
        self._write_version = write_version

    # -- what subclasses may change --------------------------------------------------------------
    def save_op(self, filename_tensor: Any, saveables: Saveables) -> Any:
        """A node that saves all tensors of `saveables`."""
        specs = [spec for saveable in saveables for spec in saveable.specs]
        names = [spec.name for spec in specs]
        tensors = [spec.tensor for spec in specs]
        slices = [spec.slice_spec for spec in specs]
        if self._write_version == V1:
            return checkpoint_v1.save_slices(filename_tensor, names, slices, tensors, name="save")
        if self._write_version == V2:
            return checkpoint.save_v2(filename_tensor, names, slices, tensors)
        raise RuntimeError(f"Unexpected write_version: {self._write_version}")

    def bulk_restore(
        self, filename_tensor: Any, saveables: Saveables, preferred_shard: int, restore_sequentially: bool
    ) -> list[Tensor]:
        """The stored values of all tensors, in the order of `saveables`."""
        found: list[Tensor] = []
        for saveable in saveables:
            device = saving.cpu_of(saveable.device) if saveable.device else None
            with get_default_graph().device(device):
                found += self.restore_op(filename_tensor, saveable, preferred_shard)
        return found

    def restore_op(
        self, filename_tensor: Any, saveable: saving.SaveableObject, preferred_shard: int
    ) -> list[Tensor]:
        """The stored values of one object."""
        return [
            checkpoint.restore_v2(filename_tensor, [spec.name], [spec.slice_spec], [spec.dtype.base_dtype])[0]
            for spec in saveable.specs
        ]

    def sharded_filename(self, filename_tensor: Any, shard: int, num_shards: Any) -> Tensor:
        """The name of one of several files."""
        name: Tensor = checkpoint.sharded_filename(filename_tensor, shard, num_shards)
        return name

    # -- saving ----------------------------------------------------------------------------------
    def _save(self, filename: Any, saveables: Saveables) -> Tensor:
        """The name, once all is saved."""
        done: Tensor = with_dependencies([self.save_op(filename, saveables)], filename)
        return done

    def _save_shards(self, filename: Any, per_device: PerDevice) -> Tensor:
        if self._write_version == V2:
            return self._save_and_merge(filename, per_device)
        graph = get_default_graph()
        count, saved = constant(len(per_device), name="num_shards"), []
        for shard, (device, saveables) in enumerate(per_device):
            with graph.device(device):
                name = self.sharded_filename(filename, shard, count)
                saved.append(self._save(name, saveables))
        with graph.control_dependencies([x.op for x in saved]):
            pattern: Tensor = checkpoint.sharded_filespec(filename, count)
            return pattern

    def _save_and_merge(self, prefix: Any, per_device: PerDevice) -> Tensor:
        """Every device writes to a temporary folder; then one joins what they wrote."""
        graph = get_default_graph()
        beside = basic.string_join([prefix, f"_temp_{uuid.uuid4().hex}/part"])
        count = constant(len(per_device), name="num_shards")
        parts, saved, device = [], [], ""
        for shard, (device, saveables) in enumerate(per_device):
            with graph.device(saving.cpu_of(device)):
                parts.append(self.sharded_filename(beside, shard, count))
                saved.append(self._save(parts[-1], saveables))
        with graph.control_dependencies([x.op for x in saved]):
            with graph.device(saving.cpu_of(device)):
                merged = checkpoint.merge_v2_checkpoints(parts, prefix, delete_old_dirs=True)
                with graph.control_dependencies([merged]):
                    whole: Tensor = identity(prefix)
                    return whole

    # -- restoring -------------------------------------------------------------------------------
    def _restore(self, filename: Any, saveables: Saveables, sequentially: bool, reshape: bool) -> Any:
        values = self.bulk_restore(filename, saveables, -1, sequentially)
        return group(*self._assign(values, saveables, reshape), name="restore_all")

    def _assign(self, values: list[Tensor], saveables: Saveables, reshape: bool) -> list[Any]:
        assigned, at = [], 0
        for saveable in saveables:
            shapes = [_shape(spec.tensor) for spec in saveable.specs] if reshape else None
            own = values[at : at + len(saveable.specs)]
            at += len(own)
            assigned.append(saveable.restore(own, shapes))
        return assigned

    def _restore_shards(self, filename: Any, per_device: PerDevice, sequentially: bool, reshape: bool) -> Any:
        """All shards are read before the first value is assigned: a damaged one changes nothing."""
        graph = get_default_graph()
        values = []
        for shard, (device, saveables) in enumerate(per_device):
            with graph.device(device):
                values.append(self.bulk_restore(filename, saveables, shard, sequentially))
        read = list({value.op: None for own in values for value in own})
        done = []
        for (device, saveables), own in zip(per_device, values):
            with graph.device(device), graph.control_dependencies(read if len(values) > 1 else []):
                done.append(group(*self._assign(own, saveables, reshape), name="restore_shard"))
        return group(*done, name="restore_all")

    def _by_device(self, saveables: Saveables) -> PerDevice:
        """The objects of each device, in the order of the devices' names."""
        found: dict[str, Saveables] = defaultdict(list)
        for saveable in saveables:
            devices = {canonical(spec.device) for spec in saveable.specs}
            if len(devices) != 1:
                raise ValueError(
                    f"All tensors of a saveable object must be on the same device: {saveable.name}"
                )
            found[devices.pop()].append(saveable)
        return sorted(found.items(), key=lambda item: item[0])

    # -- all of it -------------------------------------------------------------------------------
    def build(
        self,
        names_to_saveables: Any,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        filename: Any = "model",
    ) -> Any:
        """Add the nodes to the default graph.

        Args:
          names_to_saveables: variables and objects, by name or in a list.
          reshape: restore values into variables of other shapes.
          sharded: one file per device.
          max_to_keep: how many checkpoints the saver keeps; None or 0 for all.
          keep_checkpoint_every_n_hours: how often it keeps one beyond that.
          name: the scope of the nodes.
          restore_sequentially: one after the other.
          filename: the name that is used where none is fed.

        Returns: a SaverDef.
        """
        saveables = saving.validate_and_slice_inputs(names_to_saveables)
        with name_scope(name, "save", [_in_graph(saveable.op) for saveable in saveables]):
            path = placeholder_with_default(filename or "model", shape=(), name="filename")
            path = placeholder_with_default(path, shape=(), name="Const")
            if sharded:
                groups = self._by_device(saveables)
                saved = self._save_shards(path, groups)
                restored = self._restore_shards(path, groups, restore_sequentially, reshape)
            else:
                saved = self._save(path, saveables)
                restored = self._restore(path, saveables, restore_sequentially, reshape)
        _make_concatenations()
        return proto.SaverDef(
            filename_tensor_name=path.name,
            save_tensor_name=saved.name,
            restore_op_name=restored.name,
            max_to_keep=max_to_keep or 0,
            sharded=sharded,
            keep_checkpoint_every_n_hours=keep_checkpoint_every_n_hours,
            version=self._write_version,
        )


def _in_graph(value: Any) -> Any:
    """What a name scope may take its graph from."""
    return value if isinstance(value, Tensor) else None


def _shape(tensor: Any) -> Any:
    known = tensor.get_shape()
    return known if known.is_fully_defined() else shape_of(tensor)


def _make_concatenations() -> None:
    """A variable in parts that stands in a collection is exported by the name of its whole."""
    graph = get_default_graph()
    for key in graph.get_all_collection_keys():
        for item in graph.get_collection(key):
            if isinstance(item, PartitionedVariable):
                try:
                    graph.get_operation_by_name(item.name)
                except KeyError:
                    item.as_tensor()


class BulkSaverBuilder(BaseSaverBuilder):
    """Restores all tensors with one node."""

    def bulk_restore(
        self, filename_tensor: Any, saveables: Saveables, preferred_shard: int, restore_sequentially: bool
    ) -> list[Tensor]:
        specs = [spec for saveable in saveables for spec in saveable.specs]
        with get_default_graph().device("cpu:0"):
            values = checkpoint.restore_v2(
                filename_tensor,
                [spec.name for spec in specs],
                [spec.slice_spec for spec in specs],
                [spec.dtype.base_dtype for spec in specs],
            )
            return list(values)
