"""Positions of iterators in checkpoints."""

from __future__ import annotations

from typing import Any

from headrace.functions.platform.scopes import colocate_with
from headrace.ops.data import iterators as ops
from headrace.train.checkpoints.saveable import SaveableObject, SaveSpec


class IteratorSaveable(SaveableObject):
    """The position of one iterator."""

    def __init__(self, iterator_resource: Any) -> None:
        name = iterator_resource.op.name
        serialized = ops.serialize_iterator(iterator_resource)
        super().__init__(iterator_resource, [SaveSpec(serialized, "", f"{name}-state")], name)

    def restore(self, restored_tensors: Any, unused_restored_shapes: Any) -> Any:
        with colocate_with(self.op):
            return ops.deserialize_iterator(self.op, restored_tensors[0])


def make_saveable_from_iterator(iterator: Any) -> IteratorSaveable:
    """An object that a Saver keeps in checkpoints: the position of an iterator.

    Example:
      >>> saveable = tf.data.experimental.make_saveable_from_iterator(iterator)
      >>> tf.add_to_collection(tf.GraphKeys.SAVEABLE_OBJECTS, saveable)
      >>> saver = tf.train.Saver()
    """
    return IteratorSaveable(iterator._iterator_resource)
