"""Shapes as TensorShapeProto.  Importing this gives `Shape` its method `as_proto`."""

from __future__ import annotations

from typing import Any

from headrace.core import hooks
from headrace.core.modules import late
from headrace.core.shapes import Shape

proto = late("headrace.formats.proto")


def to_proto(shape: Shape) -> Any:
    if shape.rank is None:
        return proto.TensorShapeProto(unknown_rank=True)
    dim = proto.TensorShapeProto.Dim
    return proto.TensorShapeProto(dim=[dim(size=-1 if s is None else s) for s in shape.sizes])


hooks.shape_messages.give(Shape, {"as_proto": to_proto})
