"""Cells one above the other, and the base of users' cells."""

from __future__ import annotations

from typing import Any

from headrace.keras.layers import serialization
from headrace.layers import ops
from headrace.layers.engine.layer import Layer


def zero_states(batch: Any, sizes: Any, dtype: Any) -> Any:
    """States of zeros, in the structure of their sizes."""
    if isinstance(sizes, list | tuple):
        return [zero_states(batch, size, dtype) for size in sizes]
    return ops.zeros(ops.stack([batch, *ops.as_shape(sizes).as_list()]), dtype)


class AbstractRNNCell(Layer):
    """What users derive their cells from: `call`, `state_size` and `output_size` are to be said."""

    def call(self, inputs: Any, states: Any) -> Any:  # type: ignore[override]
        raise NotImplementedError("Abstract method")

    @property
    def state_size(self) -> Any:
        """The sizes of states."""
        raise NotImplementedError("Abstract method")

    @property
    def output_size(self) -> Any:
        """The size of outputs."""
        raise NotImplementedError("Abstract method")

    def get_initial_state(self, inputs: Any = None, batch_size: Any = None, dtype: Any = None) -> Any:
        """States of zeros."""
        if inputs is not None:
            batch_size, dtype = ops.shape(inputs)[0], inputs.dtype
        if batch_size is None or dtype is None:
            raise ValueError(
                "batch_size and dtype cannot be None while constructing initial state: "
                f"batch_size={batch_size}, dtype={dtype}"
            )
        return zero_states(batch_size, self.state_size, dtype)


class StackedRNNCells(Layer):
    """Cells one above the other.

    Args:
      cells: the cells.
      **kwargs: as of Layer.
    """

    def __init__(self, cells: Any, **kwargs: Any) -> None:
        for cell in cells:
            if not hasattr(cell, "call"):
                raise ValueError("All cells must have a `call` method. received cells:", cells)
            if not hasattr(cell, "state_size"):
                raise ValueError("All cells must have a `state_size` attribute. received cells:", cells)
        self.reverse_state_order = kwargs.pop("reverse_state_order", False)
        super().__init__(**kwargs)
        self.cells = list(cells)

    @property
    def _in_order(self) -> list[Any]:
        return self.cells[::-1] if self.reverse_state_order else self.cells

    @property
    def state_size(self) -> Any:
        """The sizes of each cell's states."""
        return tuple(cell.state_size for cell in self._in_order)

    @property
    def output_size(self) -> Any:
        """The size of the last cell's outputs."""
        last = self.cells[-1]
        size = getattr(last, "output_size", None)
        if size is not None:
            return size
        return last.state_size[0] if isinstance(last.state_size, list | tuple) else last.state_size

    def get_initial_state(self, inputs: Any = None, batch_size: Any = None, dtype: Any = None) -> Any:
        """States of zeros."""
        found = []
        for cell in self._in_order:
            make = getattr(cell, "get_initial_state", None)
            if make is not None:
                found.append(make(inputs=inputs, batch_size=batch_size, dtype=dtype))
            else:
                found.append(zero_states(batch_size, cell.state_size, dtype))
        return tuple(found)

    def call(  # type: ignore[override]
        self, inputs: Any, states: Any, constants: Any = None, **kwargs: Any
    ) -> Any:
        given = list(states)[::-1] if self.reverse_state_order else list(states)
        found = []
        for cell, own in zip(self.cells, given):
            own = own if isinstance(own, list | tuple) else [own]
            if getattr(cell, "_is_tf_rnn_cell", None) is not None and len(own) == 1:
                own = own[0]
            code = cell.call.__func__.__code__
            names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            options = {k: v for k, v in kwargs.items() if k in names}
            if constants is not None and "constants" in names:
                options["constants"] = constants
            inputs, own = cell.call(inputs, list(own) if isinstance(own, tuple) else own, **options)
            found.append(own)
        new = [s[0] if len(s) == 1 and not isinstance(g, list | tuple) else s for s, g in zip(found, given)]
        return inputs, tuple(new[::-1] if self.reverse_state_order else new)

    def build(self, input_shape: Any) -> None:
        if isinstance(input_shape, list):
            input_shape = input_shape[0]
        shape = ops.as_shape(input_shape)
        for cell in self.cells:
            if isinstance(cell, Layer) and not cell.built:
                with ops.name_scope(cell.name):
                    cell.build(shape)
                    cell.built = True
            size = getattr(cell, "output_size", None)
            if size is None:
                size = cell.state_size[0] if isinstance(cell.state_size, list | tuple) else cell.state_size
            shape = ops.as_shape([shape.as_list()[0], *ops.as_shape(size).as_list()])
        self.built = True

    def get_config(self) -> dict[str, Any]:
        cells = [{"class_name": type(c).__name__, "config": c.get_config()} for c in self.cells]
        return super().get_config() | {"cells": cells}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        config = dict(config)
        cells = [serialization.deserialize(c, custom_objects=custom_objects) for c in config.pop("cells")]
        return cls(cells, **config)
