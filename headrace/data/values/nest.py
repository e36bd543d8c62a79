"""Nests of elements: tuples, named tuples, dicts and attrs classes.  A list is a leaf, because it is meant as
a tensor; so is a SparseTensorValue."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from headrace.functions.sparse.tensor import SparseTensorValue


def is_sequence(value: Any) -> bool:
    """True for what has leaves inside."""
    if isinstance(value, SparseTensorValue):
        return False
    return isinstance(value, (tuple, Mapping)) or hasattr(type(value), "__attrs_attrs__")


def _keys(mapping: Any) -> list[Any]:
    try:
        return sorted(mapping)
    except TypeError:
        raise TypeError("nest only supports dicts with sortable keys.") from None


def branches(value: Any) -> Iterator[Any]:
    """What stands directly below."""
    if isinstance(value, Mapping):
        return iter([value[key] for key in _keys(value)])
    if isinstance(value, tuple):
        return iter(value)
    return iter([getattr(value, field.name) for field in type(value).__attrs_attrs__])


def like(value: Any, parts: list[Any]) -> Any:
    """A nest of the same kind from other parts."""
    if isinstance(value, Mapping):
        found = dict(zip(_keys(value), parts))
        made: Any = type(value)
        return made((key, found[key]) for key in value)
    if isinstance(value, tuple):
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return type(value)(*parts)


def flatten(nest: Any) -> list[Any]:
    if not is_sequence(nest):
        return [nest]
    return [leaf for branch in branches(nest) for leaf in flatten(branch)]


def pack_sequence_as(structure: Any, flat_sequence: Any) -> Any:
    """The leaves in the form of `structure`."""
    if not (is_sequence(flat_sequence) or isinstance(flat_sequence, list)):
        raise TypeError("flat_sequence must be a sequence")
    leaves = list(flat_sequence)
    if not is_sequence(structure):
        if len(leaves) != 1:
            raise ValueError(f"Structure is a scalar but len(flat_sequence) == {len(leaves)} > 1")
        return leaves[0]
    wanted = len(flatten(structure))
    if wanted != len(leaves):
        raise ValueError(
            f"Could not pack sequence. Structure had {wanted} elements, but flat_sequence had "
            f"{len(leaves)} elements.  Structure: {structure}, flat_sequence: {flat_sequence}."
        )
    return _packed(structure, iter(leaves))


def _packed(structure: Any, leaves: Iterator[Any]) -> Any:
    if not is_sequence(structure):
        return next(leaves)
    return like(structure, [_packed(branch, leaves) for branch in branches(structure)])


def assert_same_structure(nest1: Any, nest2: Any, check_types: bool = True) -> None:
    """Raise ValueError or TypeError if the two differ in form."""
    if is_sequence(nest1) != is_sequence(nest2):
        raise ValueError(
            "The two structures don't have the same nested structure.\n\n"
            f"First structure: {nest1}\n\nSecond structure: {nest2}."
        )
    if not is_sequence(nest1):
        return
    if check_types and not _alike(nest1, nest2):
        raise TypeError(
            "The two structures don't have the same sequence type. First structure has type "
            f"{type(nest1)}, while second structure has type {type(nest2)}."
        )
    if isinstance(nest1, Mapping) and isinstance(nest2, Mapping) and set(nest1) != set(nest2):
        raise ValueError(
            "The two dictionaries don't have the same set of keys. First structure has keys "
            f"{list(nest1)}, while second structure has keys {list(nest2)}"
        )
    first, second = list(branches(nest1)), list(branches(nest2))
    if len(first) != len(second):
        raise ValueError(
            "The two structures don't have the same number of elements.\n\n"
            f"First structure: {nest1}\n\nSecond structure: {nest2}."
        )
    for a, b in zip(first, second):
        assert_same_structure(a, b, check_types)


def _alike(a: Any, b: Any) -> bool:
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return True
    if hasattr(a, "_fields") and hasattr(b, "_fields"):
        return type(a).__name__ == type(b).__name__ and a._fields == b._fields
    return type(a) is type(b)


def map_structure(func: Callable[..., Any], *structure: Any, check_types: bool = True) -> Any:
    """`func` of the leaves that stand at the same place."""
    if not callable(func):
        raise TypeError(f"func must be callable, got: {func}")
    if not structure:
        raise ValueError("Must provide at least one structure")
    for other in structure[1:]:
        assert_same_structure(structure[0], other, check_types)
    leaves = zip(*(flatten(s) for s in structure))
    return pack_sequence_as(structure[0], [func(*x) for x in leaves])


def assert_shallow_structure(shallow_tree: Any, input_tree: Any, check_types: bool = True) -> None:
    """Raise unless `input_tree` has the form of `shallow_tree`, whatever is below that."""
    if not is_sequence(shallow_tree):
        return
    if not is_sequence(input_tree):
        raise TypeError(
            "If shallow structure is a sequence, input must also be a sequence. "
            f"Input has type: {type(input_tree)}."
        )
    if check_types and not isinstance(input_tree, type(shallow_tree)):
        raise TypeError(
            "The two structures don't have the same sequence type. Input structure has type "
            f"{type(input_tree)}, while shallow structure has type {type(shallow_tree)}."
        )
    below, above = list(branches(input_tree)), list(branches(shallow_tree))
    if len(below) != len(above):
        raise ValueError(
            "The two structures don't have the same sequence length. Input structure has length "
            f"{len(below)}, while shallow structure has length {len(above)}."
        )
    if check_types and isinstance(shallow_tree, Mapping) and set(input_tree) != set(shallow_tree):
        raise ValueError(
            "The two structures don't have the same keys. Input structure has keys "
            f"{list(input_tree)}, while shallow structure has keys {list(shallow_tree)}."
        )
    for a, b in zip(above, below):
        assert_shallow_structure(a, b, check_types)


def flatten_up_to(shallow_tree: Any, input_tree: Any) -> list[Any]:
    """The parts of `input_tree` at the leaves of `shallow_tree`."""
    assert_shallow_structure(shallow_tree, input_tree)
    return _parts(shallow_tree, input_tree)


def _parts(shallow: Any, tree: Any) -> list[Any]:
    if not is_sequence(shallow):
        return [tree]
    pairs = zip(branches(shallow), branches(tree))
    return [part for a, b in pairs for part in _parts(a, b)]


def map_structure_up_to(shallow_tree: Any, func: Callable[..., Any], *inputs: Any) -> Any:
    """`func` of the parts at the leaves of `shallow_tree`."""
    if not inputs:
        raise ValueError("Cannot map over no sequences")
    for tree in inputs:
        assert_shallow_structure(shallow_tree, tree)
    leaves = zip(*(_parts(shallow_tree, tree) for tree in inputs))
    return pack_sequence_as(shallow_tree, [func(*x) for x in leaves])
