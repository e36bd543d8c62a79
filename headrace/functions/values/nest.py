"""Nested structures (tf.nest): lists, tuples, dicts, attrs classes, and, if asked for, composites.
A structure flattens to its leaves, and leaves pack back into a structure of the same form.

Dicts are walked in the order of their sorted keys, so that equal dicts flatten alike.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator, Mapping, MappingView, Sequence
from typing import Any

# -- kinds of nodes -----------------------------------------------------------------------------
_BRANCHES = frozenset(("mapping", "view", "attrs", "namedtuple", "sequence"))


_kinds: dict[type, str] = {}


def _kind(cls: type) -> str:
    """How instances of a class branch; "leaf" if they do not."""
    kind = _kinds.get(cls)
    if kind is None:
        kind = _kinds[cls] = _find_kind(cls)
    return kind


def forget(cls: type) -> None:
    """Look again how a class branches: it has become a composite."""
    _kinds.pop(cls, None)


def _find_kind(cls: type) -> str:
    if issubclass(cls, Mapping):
        return "mapping"
    if issubclass(cls, MappingView):
        return "view"
    if hasattr(cls, "__attrs_attrs__"):
        return "attrs"
    if hasattr(cls, "_nest_kind"):  # what functions.values.composite says of tensors and their specs
        return str(cls._nest_kind)
    if issubclass(cls, tuple) and _has_fields(cls):
        return "namedtuple"
    if issubclass(cls, Sequence) and not issubclass(cls, (str, bytes, bytearray)):
        return "sequence"
    return "leaf"


def _has_fields(cls: type) -> bool:
    fields = getattr(cls, "_fields", None)
    return isinstance(fields, Sequence) and all(isinstance(f, (str, bytes)) for f in fields)


def is_nested(seq: Any) -> bool:
    """True for sequences (but strings), dicts, and classes made by attrs."""
    return _kind(type(seq)) in _BRANCHES


is_sequence = is_nested


def is_nested_or_composite(value: Any) -> bool:
    return _kind(type(value)) != "leaf"


is_sequence_or_composite = is_nested_or_composite


def is_composite(value: Any) -> bool:
    return _kind(type(value)) == "composite"


def is_spec(value: Any) -> bool:
    """True for the description of a composite value (a TensorSpec is not one)."""
    return _kind(type(value)) == "spec"


def is_namedtuple(value: Any, strict: bool = False) -> bool:
    """`strict` refuses classes derived from a named tuple."""
    cls = type(value)
    return _kind(cls) == "namedtuple" and (not strict or cls.__base__ is tuple)


def same_namedtuples(a: Any, b: Any) -> bool:
    return bool(a._fields == b._fields) and type(a).__name__ == type(b).__name__


# -- one level ----------------------------------------------------------------------------------
def items(node: Any) -> Iterator[tuple[Any, Any]]:
    """(key, child) of a branching value: index, dict key, field name, or the composite's type."""
    match _kind(type(node)):
        case "mapping":
            for key in sorted_keys(node):
                yield key, node[key]
        case "namedtuple":
            yield from zip(node._fields, node)
        case "attrs":
            for attribute in type(node).__attrs_attrs__:
                yield attribute.name, getattr(node, attribute.name)
        case "composite":
            yield type(node).__name__, node._type_spec._to_components(node)
        case "spec":
            yield node.value_type.__name__, node._component_specs
        case _:
            yield from enumerate(node)


def children(node: Any) -> Iterator[Any]:
    return (child for _, child in items(node))


def sorted_keys(mapping: Any) -> list[Any]:
    try:
        return sorted(mapping)
    except TypeError:
        raise TypeError("nest only supports dicts with sortable keys.") from None


def like(node: Any, parts: Sequence[Any]) -> Any:
    """A value of `node`'s kind with these children."""
    match _kind(type(node)):
        case "mapping":
            found = dict(zip(sorted_keys(node), parts))
            if isinstance(node, collections.defaultdict):
                return collections.defaultdict(node.default_factory, ((key, found[key]) for key in node))
            return type(node)((key, found[key]) for key in node)
        case "view":
            return list(parts)
        case "namedtuple" | "attrs":
            return type(node)(*parts)
        case "composite":
            return node._type_spec._from_components(parts[0])
        case "spec":
            return node._from_components(parts[0])
    return list(parts) if isinstance(node, range) else type(node)(parts)


# -- whole structures ---------------------------------------------------------------------------
class Nesting:
    """What branches: flattening, packing and comparing follow from that."""

    def __init__(self, branches: Callable[[Any], bool], compare_specs: bool = False) -> None:
        self.branches, self.compare_specs = branches, compare_specs

    def flatten(self, structure: Any) -> list[Any]:
        out: list[Any] = []
        self._collect(structure, out)
        return out

    def _collect(self, node: Any, out: list[Any]) -> None:
        if not self.branches(node):
            out.append(node)
        elif type(node) in (list, tuple):
            for child in node:
                self._collect(child, out)
        else:
            for child in children(node):
                self._collect(child, out)

    def pack(self, structure: Any, flat: Any) -> Any:
        if not is_nested_or_composite(flat):
            raise TypeError("flat_sequence must be a sequence")
        if not self.branches(structure):
            if len(flat) != 1:
                raise ValueError(f"Structure is a scalar but len(flat_sequence) == {len(flat)} > 1")
            return flat[0]
        expected = len(self.flatten(structure))
        if expected != len(flat):
            raise ValueError(
                f"Could not pack sequence. Structure had {expected} elements, but flat_sequence "
                f"had {len(flat)} elements.  Structure: {structure}, flat_sequence: {flat}."
            )
        return self._packed(structure, iter(flat))

    def _packed(self, node: Any, leaves: Iterator[Any]) -> Any:
        if not self.branches(node):
            return next(leaves)
        return like(node, [self._packed(child, leaves) for child in children(node)])

    def flatten_up_to(
        self, shallow: Any, deep: Any, path: tuple[Any, ...] = ()
    ) -> Iterator[tuple[tuple[Any, ...], Any]]:
        """(path, value) of the parts of `deep` at the leaves of `shallow`."""
        if not self.branches(shallow):
            yield path, deep
            return
        parts = dict(items(deep))
        for key, child in items(shallow):
            yield from self.flatten_up_to(child, parts[key], (*path, key))

    # -- comparing ------------------------------------------------------------------------------
    def assert_same(self, first: Any, second: Any, check_types: bool = True) -> None:
        try:
            self._compare(first, second, check_types)
        except (TypeError, ValueError) as error:
            dots = [str(map_structure(lambda _: _DOT, s)) for s in (first, second)]
            raise type(error)(
                "The two structures don't have the same nested structure.\n\n"
                f"First structure: {_shown(first)}\n\nSecond structure: {_shown(second)}\n\n"
                f"More specifically: {error}\nEntire first structure:\n{dots[0]}\n"
                f"Entire second structure:\n{dots[1]}"
            ) from None

    def _compare(self, a: Any, b: Any, check_types: bool) -> None:
        if self.branches(a) != self.branches(b):
            branch, leaf = (a, b) if self.branches(a) else (b, a)
            raise ValueError(
                f'Substructure "{_shown(branch)}" is a sequence, while substructure "{_shown(leaf)}" is not'
            )
        if not self.branches(a):
            return
        if check_types:
            self._compare_types(a, b)
            _compare_keys(a, b)
        if self.compare_specs and (is_composite(a) or is_composite(b)):
            _compare_specs(a, b)
        left, right = list(children(a)), list(children(b))
        for x, y in zip(left, right):
            self._compare(x, y, check_types)
        if len(left) != len(right):
            raise ValueError(
                "The two structures don't have the same number of elements. "
                f"First structure: {_shown(a)}. Second structure: {_shown(b)}"
            )

    def _compare_types(self, a: Any, b: Any) -> None:
        if is_namedtuple(a, strict=True) and is_namedtuple(b, strict=True):
            alike = same_namedtuples(a, b)
        else:
            alike = type(a) is type(b) or any(
                isinstance(a, kind) and isinstance(b, kind) for kind in (list, Mapping)
            )
            if self.compare_specs:  # a value and a description: compared afterwards
                alike |= {_kind(type(a)), _kind(type(b))} == {"composite", "spec"}
        if not alike:
            raise TypeError(
                "The two namedtuples don't have the same sequence type. "
                f"First structure {_shown(a)} has type {type(a).__name__}, while second structure "
                f"{_shown(b)} has type {type(b).__name__}"
            )


def _compare_keys(a: Any, b: Any) -> None:
    if isinstance(a, Mapping) and (len(a) != len(b) or any(key not in b for key in a)):
        raise ValueError(
            "The two dictionaries don't have the same set of keys. First structure has keys "
            f"{_shown(list(a))}, while second structure has keys {_shown(list(b))}"
        )


def _compare_specs(a: Any, b: Any) -> None:
    """Composites are alike if one description covers both, whatever their shapes."""
    first, second = _spec_of(a), _spec_of(b)
    try:
        first.most_specific_compatible_type(second)
    except (TypeError, ValueError):
        raise ValueError(
            f"Incompatible CompositeTensor TypeSpecs: {_shown(first)} vs. {_shown(second)}"
        ) from None


def _spec_of(value: Any) -> Any:
    return value._type_spec if is_composite(value) else value


def _shown(value: Any) -> str:
    return f"type={type(value).__name__} str={value}"


class _Dot:
    def __repr__(self) -> str:
        return "."


_DOT = _Dot()

PLAIN = Nesting(is_nested)
EXPANDED = Nesting(is_nested_or_composite, compare_specs=True)


def nesting(expand_composites: bool) -> Nesting:
    return EXPANDED if expand_composites else PLAIN


# -- TF's functions -----------------------------------------------------------------------------
def flatten(structure: Any, expand_composites: bool = False) -> list[Any]:
    """The leaves of a structure, as a list.

    Args:
      structure: nested lists, tuples, dicts, or a single leaf.  NumPy arrays are leaves.
      expand_composites: go into sparse and ragged tensors, too.

    Returns:
      A list; dicts give their values in the order of their sorted keys.

    Example:
      >>> flatten({"b": [1, 2], "a": 0})
      [0, 1, 2]
    """
    return nesting(expand_composites).flatten(structure)


def pack_sequence_as(structure: Any, flat_sequence: Any, expand_composites: bool = False) -> Any:
    """The inverse of `flatten`: `flat_sequence` in the form of `structure`.

    Raises:
      ValueError: the number of elements differs.
      TypeError: `flat_sequence` is no sequence, or a dict has keys that can not be sorted.

    Example:
      >>> pack_sequence_as({"b": [1, 2], "a": 0}, ["x", "y", "z"])
      {'b': ['y', 'z'], 'a': 'x'}
    """
    return nesting(expand_composites).pack(structure, flat_sequence)


def assert_same_structure(
    nest1: Any, nest2: Any, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Refuse two structures that are nested in different ways.

    Args:
      nest1: a structure.
      nest2: another one.
      check_types: a list and a tuple differ; named tuples of equal name and fields never do.
      expand_composites: compare the inside of sparse and ragged tensors, too.

    Raises:
      ValueError: the nesting or the number of elements differs.
      TypeError: the types of two sequences differ.
    """
    nesting(expand_composites).assert_same(nest1, nest2, bool(check_types))


def map_structure(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """`func(x0, x1, ...)` on the leaves of structures of one form, in the form of the first.

    Args:
      func: takes as many arguments as there are structures.
      *structure: the structures.
      **kwargs: `check_types` and `expand_composites`, as in `assert_same_structure`.

    Example:
      >>> map_structure(lambda x, y: x + y, {"a": 1}, {"a": 2})
      {'a': 3}
    """
    if not callable(func):
        raise TypeError(f"func must be callable, got: {func}")
    if not structure:
        raise ValueError("Must provide at least one structure")
    check_types = kwargs.pop("check_types", True)
    rules = nesting(kwargs.pop("expand_composites", False))
    if kwargs:
        raise ValueError(
            "Only valid keyword arguments are `check_types` and `expand_composites`, not: "
            f"`{'`, `'.join(kwargs)}`"
        )
    for other in structure[1:]:
        rules.assert_same(structure[0], other, check_types)
    leaves = zip(*(rules.flatten(s) for s in structure))
    return rules.pack(structure[0], [func(*x) for x in leaves])
