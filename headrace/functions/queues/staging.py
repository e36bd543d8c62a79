"""Staging areas as Python objects (tf.contrib.staging)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.fields import reads
from headrace.core.shapes import UNKNOWN, Shape, as_shape
from headrace.functions.values.structure import name_scope
from headrace.graph.defaults import get_default_graph
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.array.source import identity, no_op
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.queues import staging as ops


class BaseStagingArea:
    """What both kinds of staging areas have in common."""

    def __init__(
        self,
        dtypes: Any,
        shapes: Any = None,
        names: Sequence[str] | None = None,
        shared_name: str | None = None,
        capacity: int = 0,
        memory_limit: int = 0,
    ) -> None:
        """Args:
        dtypes: types of the components.
        shapes: their shapes, or None.
        names: their names, or None.
        shared_name: the name under which other areas find the same values.
        capacity: how many elements it holds; 0 for any number.
        memory_limit: how many bytes; 0 for any number.
        """
        if shared_name is None:
            shared_name = get_default_graph().unique_name(type(self).__name__)
        elif not isinstance(shared_name, str):
            raise ValueError("shared_name must be a string")
        if shapes is not None and len(shapes) != len(dtypes):
            raise ValueError("StagingArea shapes must be the same length as dtypes")
        if names is not None and len(names) != len(dtypes):
            raise ValueError("StagingArea names must be the same length as dtypes")
        self._name, self._dtypes, self._names = shared_name, dtypes, names
        self._shapes: list[Shape] = (
            [UNKNOWN] * len(dtypes) if shapes is None else [as_shape(s) for s in shapes]
        )
        self._capacity, self._memory_limit = capacity, memory_limit
        with name_scope(f"{self._name}_root"):
            self._home: Node = no_op()

    name: str = reads("_name", "The name of the area.")
    dtypes: Any = reads("_dtypes", "Types of the components.")
    shapes: list[Shape] = reads("_shapes", "Shapes of the components.")
    names: Any = reads("_names", "Names of the components, or None.")
    capacity: int = reads("_capacity", "How many elements it holds; 0 for any number.")
    memory_limit: int = reads("_memory_limit", "How many bytes it holds; 0 for any number.")

    def _limits(self) -> dict[str, Any]:
        return {"shared_name": self._name, "capacity": self._capacity, "memory_limit": self._memory_limit}

    def _at_home(self) -> Any:
        return get_default_graph().colocate_with(self._home)

    def _components(self, vals: Any, indices: Any) -> tuple[list[Tensor], list[int]]:
        if isinstance(vals, dict):
            if not self._names:
                raise ValueError("Staging areas must have names to enqueue a dictionary")
            if not set(vals) <= set(self._names):
                raise ValueError(
                    "Keys in dictionary to put do not match names of staging area. Dictionary: "
                    f"({sorted(vals)}), Queue: ({sorted(self._names)})"
                )
            indices = [i for i, name in enumerate(self._names) if name in vals]
            vals = [vals[self._names[i]] for i in indices]
        else:
            if self._names:
                raise ValueError("You must enqueue a dictionary in a staging area with names")
            if indices is None:
                raise ValueError("Indices must be supplied when inserting a list of tensors")
            if len(indices) != len(vals):
                raise ValueError(
                    f"Number of indices '{len(indices)}' doesn't match number of values '{len(vals)}'"
                )
        if len(vals) > len(self._dtypes):
            raise ValueError(f"Unexpected number of inputs '{len(vals)}' vs '{len(self._dtypes)}'")
        tensors = []
        for value, i in zip(vals, indices):
            dtype = self._dtypes[i]
            if value.dtype != dtype:
                raise ValueError(f"Datatypes do not match. '{value.dtype}' != '{dtype}'")
            value.get_shape().assert_is_compatible_with(self._shapes[i])
            tensors.append(convert_to_tensor(value, dtype=dtype, name=f"component_{i}"))
        return tensors, list(indices)

    def _moved(self, tensors: Any) -> list[Tensor]:
        """On the device of the caller, if that is another."""
        tensors = list(tensors) if isinstance(tensors, (list, tuple)) else [tensors]
        if no_op().device != self._home.device:
            return [identity(t) for t in tensors]
        result: list[Tensor] = tensors
        return result

    def _result(self, tensors: Any, indices: Sequence[int]) -> Any:
        found = self._moved(tensors)
        for tensor, i in zip(found, indices):
            tensor.set_shape(self._shapes[i])
        if self._names:
            return {self._names[i]: tensor for i, tensor in zip(indices, found)}
        return found


def _all(vals: Any) -> list[Any]:
    if isinstance(vals, dict):
        return list(vals.values())
    return list(vals) if isinstance(vals, (list, tuple)) else [vals]


class StagingArea(BaseStagingArea):
    """Values put aside for another step, first in, first out."""

    def put(self, values: Any, name: str | None = None) -> Node:
        """A node that puts an element aside, when there is room.

        Args:
          values: a tensor, a list of them, or a dict from names to tensors.
          name: name of the node.
        """
        with name_scope(name, f"{self._name}_put", _all(values)) as scope:
            if not isinstance(values, (list, tuple, dict)):
                values = [values]
            tensors, _ = self._components(values, range(len(values)))
            with self._at_home():
                return ops.stage(values=tensors, name=scope, **self._limits())

    def get(self, name: str | None = None) -> Any:
        """The element that was put aside first.

        Args:
          name: name of the node.
        """
        with self._at_home():
            taken = ops.unstage(dtypes=self._dtypes, name=name or f"{self._name}_get", **self._limits())
        return self._result(taken, range(len(self._dtypes)))

    def peek(self, index: Any, name: str | None = None) -> Any:
        """An element; it stays in the area.

        Args:
          index: which, counted from the first.
          name: name of the node.
        """
        with self._at_home():
            seen = ops.stage_peek(
                index, dtypes=self._dtypes, name=name or f"{self._name}_peek", **self._limits()
            )
        return self._result(seen, range(len(self._dtypes)))

    def size(self, name: str | None = None) -> Tensor:
        """How many elements are put aside.

        Args:
          name: name of the node.
        """
        name = name or f"{self._name}_size"
        return ops.stage_size(name=name, dtypes=self._dtypes, **self._limits())

    def clear(self, name: str | None = None) -> Node:
        """A node that forgets all elements.

        Args:
          name: name of the node.
        """
        name = name or f"{self._name}_clear"
        return ops.stage_clear(name=name, dtypes=self._dtypes, **self._limits())


class MapStagingArea(BaseStagingArea):
    """Values put aside under keys for another step; components may come and leave one by one."""

    def __init__(
        self,
        dtypes: Any,
        shapes: Any = None,
        names: Sequence[str] | None = None,
        shared_name: str | None = None,
        ordered: bool = False,
        capacity: int = 0,
        memory_limit: int = 0,
    ) -> None:
        """Args:
        dtypes: types of the components.
        shapes: their shapes, or None.
        names: their names, or None.
        shared_name: the name under which other areas find the same values.
        ordered: the smallest key leaves first.
        capacity: how many elements it holds; 0 for any number.
        memory_limit: how many bytes; 0 for any number.
        """
        super().__init__(dtypes, shapes, names, shared_name, capacity, memory_limit)
        self._ordered = ordered
        self._ops = ops.MAP_OPS[ordered]

    def put(self, key: Any, vals: Any, indices: Any = None, name: str | None = None) -> Node:
        """A node that puts components of an element aside, when there is room.

        Args:
          key: a scalar int64.
          vals: a list of tensors, or a dict from names to tensors.
          indices: which components these are.
          name: name of the node.
        """
        with name_scope(name, f"{self._name}_put", _all(vals)) as scope:
            tensors, places = self._components(vals, indices)
            with self._at_home():
                result: Node = self._ops["Stage"](
                    key, places, tensors, dtypes=self._dtypes, name=scope, **self._limits()
                )
                return result

    def _places(self, indices: Any) -> tuple[list[int], list[Any]]:
        if indices is None:
            indices = list(range(len(self._dtypes)))
        if not isinstance(indices, (tuple, list)):
            raise TypeError(f"Invalid indices type '{type(indices)}'")
        if not indices:
            raise ValueError("Empty indices")
        if all(isinstance(i, str) for i in indices):
            if self._names is None:
                raise ValueError(
                    f"String indices provided '{indices}', but this Staging Area was not created with names."
                )
            for name in indices:
                if name not in self._names:
                    raise ValueError(f"Named index '{name}' not in Staging Area names '{self._names}'")
            indices = [self._names.index(n) for n in indices]
        elif not all(isinstance(i, int) for i in indices):
            raise TypeError(f"Mixed types in indices '{indices}'. May only be str or int")
        return list(indices), [self._dtypes[i] for i in indices]

    def peek(self, key: Any, indices: Any = None, name: str | None = None) -> Any:
        """Components of the element under a key; they stay in the area.

        Args:
          key: a scalar int64.
          indices: numbers or names of the components; all if None.
          name: name of the node.
        """
        places, dtypes = self._places(indices)
        with self._at_home():
            seen = self._ops["Peek"](
                key, indices=places, dtypes=dtypes, name=name or f"{self._name}_pop", **self._limits()
            )
        return self._result(seen, places)

    def get(self, key: Any = None, indices: Any = None, name: str | None = None) -> tuple[Any, Any]:
        """Take components of the element under a key, or of any element.

        Args:
          key: a scalar int64, or None.
          indices: numbers or names of the components; all if None.
          name: name of the node.

        Returns:
          The key, and the components.
        """
        places, dtypes = self._places(indices)
        more = {"indices": places, "dtypes": dtypes, **self._limits()}
        if key is not None:
            with self._at_home():
                taken = self._ops["Unstage"](key, name=name or f"{self._name}_get", **more)
            return key, self._result(taken, places)
        with self._at_home():
            key, taken = self._ops["UnstageNoKey"](name=name or f"{self._name}_get_nokey", **more)
        return self._moved(key)[0], self._result(taken, places)

    def size(self, name: str | None = None) -> Tensor:
        """How many complete elements are put aside.

        Args:
          name: name of the node.
        """
        result: Tensor = self._asked("Size", name or f"{self._name}_size")
        return result

    def incomplete_size(self, name: str | None = None) -> Tensor:
        """How many elements wait for components.

        Args:
          name: name of the node.
        """
        result: Tensor = self._asked("IncompleteSize", name or f"{self._name}_incomplete_size")
        return result

    def clear(self, name: str | None = None) -> Node:
        """A node that forgets all elements.

        Args:
          name: name of the node.
        """
        result: Node = self._asked("Clear", name or f"{self._name}_clear")
        return result

    def _asked(self, word: str, name: str) -> Any:
        return self._ops[word](name=name, dtypes=self._dtypes, **self._limits())
