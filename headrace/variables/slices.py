"""Which part of a larger tensor a variable holds: for savers and initializers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.fields import reads
from headrace.formats import proto


class SaveSliceInfo:
    """A variable is the slice at `var_offset`, of shape `var_shape`, of a tensor `full_name`."""

    def __init__(
        self,
        full_name: str | None = None,
        full_shape: Sequence[int] | None = None,
        var_offset: Sequence[int] | None = None,
        var_shape: Sequence[int] | None = None,
        save_slice_info_def: Any = None,
        import_scope: str | None = None,
    ) -> None:
        if save_slice_info_def is None:
            self.full_name, self.full_shape = full_name, full_shape
            self.var_offset, self.var_shape = var_offset, var_shape
            return
        message = save_slice_info_def
        prefix = f"{import_scope.rstrip('/')}/" if import_scope else ""
        self.full_name, self.full_shape = prefix + message.full_name, list(message.full_shape)
        self.var_offset, self.var_shape = list(message.var_offset), list(message.var_shape)

    @property
    def spec(self) -> str:
        """The text that checkpoints use: full shape, then offset,length per dimension."""
        full = "".join(f"{size} " for size in self.full_shape or ())
        return full + ":".join(f"{o},{s}" for o, s in zip(self.var_offset or (), self.var_shape or ()))

    def to_proto(self, export_scope: str | None = None) -> Any:
        name = self.full_name or ""
        if export_scope is not None and not name.startswith(export_scope):
            return None
        if export_scope:
            name = name.removeprefix(export_scope.rstrip("/") + "/")
        return proto.SaveSliceInfoDef(
            full_name=name, full_shape=self.full_shape, var_offset=self.var_offset, var_shape=self.var_shape
        )


class PartitionInfo:
    """Tells an initializer which part of the full shape it fills."""

    def __init__(self, full_shape: Any, var_offset: Any) -> None:
        for name, value in (("full_shape", full_shape), ("var_offset", var_offset)):
            if not isinstance(value, Sequence) or isinstance(value, str):
                raise TypeError(
                    f"`{name}` must be a sequence (like tuple or list) instead of {type(value).__name__}"
                )
        if len(var_offset) != len(full_shape):
            raise ValueError(
                f"Expected equal length, but `var_offset` is of length {len(var_offset)} while "
                f"full_shape is of length {len(full_shape)}."
            )
        for offset, size in zip(var_offset, full_shape):
            if offset < 0 or offset >= size:
                raise ValueError(
                    f"Expected 0 <= offset < shape but found offset={offset}, shape={size} for "
                    f"var_offset={var_offset}, full_shape={full_shape}"
                )
        self._full_shape, self._var_offset = full_shape, var_offset

    full_shape: Any = reads("_full_shape")
    var_offset: Any = reads("_var_offset")

    def single_offset(self, shape: Sequence[int]) -> int:
        """Where the part begins in the one dimension that is cut; 0 if none is."""
        axis = self.single_slice_dim(shape)
        return 0 if axis is None else int(self._var_offset[axis])

    def single_slice_dim(self, shape: Sequence[int]) -> int | None:
        """The one dimension in which a part of this shape is smaller than the whole."""
        if not isinstance(shape, Sequence) or isinstance(shape, str):
            raise TypeError(
                "`shape` must be a sequence (like tuple or list) instead of " + type(shape).__name__
            )
        full, offsets = self._full_shape, self._var_offset
        if len(shape) != len(full):
            raise ValueError(
                f"A slice of shape {shape} has rank {len(shape)}, but its variable, {full}, has rank "
                f"{len(full)}."
            )
        for i, size in enumerate(shape):
            if offsets[i] + size > full[i]:
                raise ValueError(
                    f"A slice of shape {shape} at {offsets} ends behind its variable, {full}, in "
                    f"dimension {i}."
                )
        cut = [i for i, size in enumerate(shape) if size != full[i]]
        if len(cut) > 1:
            raise ValueError(
                f"There is no single_slice_dim: {shape} of {full} is cut in dimensions {cut[0]} and {cut[1]}."
            )
        return cut[0] if cut else None
