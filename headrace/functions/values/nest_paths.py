"""More of nested structures: paths to leaves, and structures compared with a shallower one.

A shallow structure says where to stop: its leaves may be whole structures in the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from headrace.functions.values.nest import (
    Nesting,
    _spec_of,
    children,
    flatten,
    is_composite,
    is_namedtuple,
    is_nested,
    is_spec,
    like,
    nesting,
    same_namedtuples,
)

Path = tuple[Any, ...]


def flatten_dict_items(dictionary: Any) -> dict[Any, Any]:
    """{(a, b): (1, 2)} -> {a: 1, b: 2}; keys and values are nested alike."""
    if not isinstance(dictionary, Mapping):
        raise TypeError("input must be a dictionary")
    flat: dict[Any, Any] = {}
    for key, value in dictionary.items():
        keys, values = (flatten(key), flatten(value)) if is_nested(key) else ([key], [value])
        if len(keys) != len(values):
            raise ValueError(
                f"Could not flatten dictionary. Key had {len(keys)} elements, but value had "
                f"{len(values)} elements. Key: {keys}, value: {values}."
            )
        for k, v in zip(keys, values):
            if k in flat:
                raise ValueError(f"Could not flatten dictionary: key {k} is not unique.")
            flat[k] = v
    return flat


def assert_shallow_structure(
    shallow_tree: Any,
    input_tree: Any,
    check_types: bool = True,
    expand_composites: bool = False,
    check_subtrees_length: bool = True,
) -> None:
    """Refuse an `input_tree` that does not begin as `shallow_tree` does."""
    rules = nesting(expand_composites)
    _check_shallow(rules, shallow_tree, input_tree, check_types, check_subtrees_length)


def _check_shallow(rules: Nesting, shallow: Any, deep: Any, types: bool, lengths: bool) -> None:
    if not rules.branches(shallow):
        return
    if not rules.branches(deep):
        raise TypeError(
            "If shallow structure is a sequence, input must also be a sequence. "
            f"Input has type: {type(deep)}."
        )
    if types and not isinstance(deep, type(shallow)) and not _are_alike(shallow, deep):
        raise _mismatch(shallow, deep)
    if is_composite(shallow) or is_composite(deep):
        _check_specs(shallow, deep)
    elif is_spec(shallow):
        if not is_spec(deep):
            raise TypeError(
                "If shallow structure is a TypeSpec, input must also be a TypeSpec.  "
                f"Input has type: {type(deep)}."
            )
    else:
        _check_lengths(shallow, deep, lengths)
    if isinstance(shallow, Mapping) and set(shallow) - set(deep):
        absent = sorted(set(shallow) - set(deep))
        raise ValueError(
            f"The shallow_tree's keys are not a subset of the input_tree's keys: {absent} are in the "
            "former alone."
        )
    for a, b in zip(children(shallow), children(deep)):
        _check_shallow(rules, a, b, types, lengths)


def _are_alike(shallow: Any, deep: Any) -> bool:
    if is_namedtuple(shallow) and is_namedtuple(deep):
        return same_namedtuples(shallow, deep)
    if (is_composite(shallow) and is_spec(deep)) or (is_spec(shallow) and is_composite(deep)):
        return True  # their specs are compared afterwards
    return isinstance(shallow, Mapping) and isinstance(deep, Mapping)


def _mismatch(shallow: Any, deep: Any) -> TypeError:
    return TypeError(
        "The two structures don't have the same sequence type. Input structure has type "
        f"{type(deep)}, while shallow structure has type {type(shallow)}."
    )


def _check_specs(shallow: Any, deep: Any) -> None:
    if not all(is_composite(x) or is_spec(x) for x in (shallow, deep)):
        raise _mismatch(shallow, deep)
    a, b = _spec_of(shallow), _spec_of(deep)
    try:
        a.most_specific_compatible_type(b)
    except (TypeError, ValueError) as error:
        raise ValueError(f"Incompatible CompositeTensor TypeSpecs: {a} vs. {b} -- {error}") from None


def _check_lengths(shallow: Any, deep: Any, exact: bool) -> None:
    if exact and len(deep) != len(shallow):
        raise ValueError(
            "The two structures don't have the same sequence length. Input structure has length "
            f"{len(deep)}, while shallow structure has length {len(shallow)}."
        )
    if len(deep) < len(shallow):
        raise ValueError(
            "The input_tree has fewer elements than the shallow_tree. Input structure has length "
            f"{len(deep)}, while shallow structure has length {len(shallow)}."
        )


# -- flattening with paths ----------------------------------------------------------------------
def flatten_with_tuple_paths_up_to(
    shallow_tree: Any,
    input_tree: Any,
    check_types: bool = True,
    expand_composites: bool = False,
    check_subtrees_length: bool = True,
) -> list[tuple[Path, Any]]:
    """(path, part) for the parts of `input_tree` at the leaves of `shallow_tree`."""
    rules = nesting(expand_composites)
    _check_shallow(rules, shallow_tree, input_tree, check_types, check_subtrees_length)
    return list(rules.flatten_up_to(shallow_tree, input_tree))


def flatten_up_to(
    shallow_tree: Any,
    input_tree: Any,
    check_types: bool = True,
    expand_composites: bool = False,
    check_subtrees_length: bool = True,
) -> list[Any]:
    """The parts of `input_tree` at the leaves of `shallow_tree`."""
    found = flatten_with_tuple_paths_up_to(
        shallow_tree, input_tree, check_types, expand_composites, check_subtrees_length
    )
    return [value for _, value in found]


def yield_flat_paths(nest: Any, expand_composites: bool = False) -> Iterator[Path]:
    """The path to every leaf: indices, keys and field names."""
    for path, _ in nesting(expand_composites).flatten_up_to(nest, nest):
        yield path


def flatten_with_tuple_paths(structure: Any, expand_composites: bool = False) -> list[tuple[Path, Any]]:
    return list(nesting(expand_composites).flatten_up_to(structure, structure))


def flatten_with_joined_string_paths(
    structure: Any, separator: str = "/", expand_composites: bool = False
) -> list[tuple[str, Any]]:
    """As `flatten_with_tuple_paths`, with each path as text."""
    return [
        (separator.join(map(str, path)), leaf)
        for path, leaf in flatten_with_tuple_paths(structure, expand_composites)
    ]


# -- mapping ------------------------------------------------------------------------------------
def map_structure_with_tuple_paths_up_to(
    shallow_tree: Any, func: Callable[..., Any], *inputs: Any, **kwargs: Any
) -> Any:
    """`func(path, x0, x1, ...)` on the parts of the inputs at the leaves of `shallow_tree`.

    Keywords other than check_types, expand_composites and check_subtrees_length go to `func`.
    """
    if not inputs:
        raise ValueError("Cannot map over no sequences")
    types = kwargs.pop("check_types", True)
    rules = nesting(kwargs.pop("expand_composites", False))
    lengths = kwargs.pop("check_subtrees_length", True)
    for deep in inputs:
        _check_shallow(rules, shallow_tree, deep, types, lengths)
    found = [list(rules.flatten_up_to(shallow_tree, deep)) for deep in inputs]
    results = [func(row[0][0], *(value for _, value in row), **kwargs) for row in zip(*found)]
    return rules.pack(shallow_tree, results)


def map_structure_up_to(shallow_tree: Any, func: Callable[..., Any], *inputs: Any, **kwargs: Any) -> Any:
    """As above, without the path."""
    return map_structure_with_tuple_paths_up_to(
        shallow_tree, lambda _, *values: func(*values), *inputs, **kwargs
    )


def map_structure_with_tuple_paths(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    return map_structure_with_tuple_paths_up_to(structure[0], func, *structure, **kwargs)


def map_structure_with_paths(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """`func("a/0/b", x0, x1, ...)` on the leaves."""

    def joined(path: Path, *values: Any, **more: Any) -> Any:
        return func("/".join(map(str, path)), *values, **more)

    return map_structure_with_tuple_paths(joined, *structure, **kwargs)


def get_traverse_shallow_structure(
    traverse_fn: Callable[[Any], Any], structure: Any, expand_composites: bool = False
) -> Any:
    """A structure of bools that says, by `traverse_fn`, how deep to go into `structure`."""
    rules = nesting(expand_composites)
    wanted = traverse_fn(structure)
    if not rules.branches(structure):
        if not isinstance(wanted, bool):
            raise TypeError(f"traverse_fn returned structure: {wanted} for non-structure: {structure}")
        return wanted
    if isinstance(wanted, bool):
        if not wanted:
            return False
        choices = [True for _ in children(structure)]
    elif not rules.branches(wanted):
        raise TypeError(f"traverse_fn returned a non-bool scalar: {wanted} for input: {structure}")
    else:
        _check_shallow(rules, wanted, structure, True, True)
        choices = list(children(wanted))
        if not all(isinstance(choice, bool) for choice in choices):
            raise TypeError(
                f"traverse_fn didn't return a depth=1 structure of bools.  saw: {wanted}  "
                f"for structure: {structure}"
            )
    return like(
        structure,
        [
            choice and get_traverse_shallow_structure(traverse_fn, child, expand_composites)
            for choice, child in zip(choices, children(structure))
        ],
    )
