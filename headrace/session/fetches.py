"""Nested fetches -> the tensors and nodes to run, and results back into the same structure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headrace.core.errors import hinted
from headrace.graph.graph import Graph
from headrace.graph.mixing import stranger
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.session.composites import assembler, feed_parts, parts_of

Rebuild = Callable[[Sequence[Any]], Any]  # values of the unique tensors -> this part's result

# type, fetch (object -> list of elements, list of values -> result), feed, feed for partial runs
_EXPANSIONS: list[tuple[type, Callable[..., Any], Any, Any]] = []


def register_session_run_conversion_functions(
    tensor_type: type,
    fetch_function: Callable[..., Any],
    feed_function: Any = None,
    feed_function_for_partial_run: Any = None,
) -> None:
    """Teach `run` a type: what to fetch for it and how to put it together; how to feed it."""
    if any(row[0] is tensor_type for row in _EXPANSIONS):
        raise ValueError(f"{tensor_type} has already been registered so ignore it.")
    _EXPANSIONS.insert(0, (tensor_type, fetch_function, feed_function, feed_function_for_partial_run))


def expand_feed(key: Any, value: Any) -> list[tuple[Any, Any]]:
    """A feed of a composite as feeds of its parts."""
    for kind, _, feed, _ in _EXPANSIONS:
        if isinstance(key, kind) and feed is not None:
            return list(feed(key, value))
    return feed_parts(key, value)


def expand_feed_key(key: Any) -> list[Any]:
    for kind, _, _, partial in _EXPANSIONS:
        if isinstance(key, kind) and partial is not None:
            return list(partial(key))
    return parts_of(key) or [key]


class Fetches:
    """What one fetch structure needs.  `tensors` and `targets` are unique, in order of appearance."""

    def __init__(self, graph: Graph, fetches: Any) -> None:
        self.graph = graph
        self.tensors: dict[Tensor, int] = {}
        self.targets: dict[Node, None] = {}
        self.rebuild: Rebuild = self._part(fetches)

    def _part(self, fetch: Any) -> Rebuild:
        """How a part of the fetched structure is made of the values; notes the tensors that it needs."""
        if fetch is None:
            message = f"Fetch argument {fetch!r} has invalid type {type(fetch)!r}"
            raise TypeError(hinted(message, "tf.gradients gives None for what its result does not depend on"))
        if isinstance(fetch, (list, tuple)):
            return self._sequence(fetch)
        if isinstance(fetch, Mapping):
            return self._mapping(fetch)
        if _is_attrs(fetch):
            return self._attrs(fetch)
        for kind, expand, _, _ in _EXPANSIONS:
            if isinstance(fetch, kind):
                elements, assemble = expand(fetch)
                return self._composite(elements, assemble)
        parts = parts_of(fetch)
        if parts is not None:
            return self._composite(parts, assembler(fetch))
        return self._element(fetch)

    def _sequence(self, fetch: Any) -> Rebuild:
        parts = [self._part(f) for f in fetch]
        kind: Any = type(fetch)
        if hasattr(fetch, "_fields"):  # a namedtuple
            return lambda values: kind(*(p(values) for p in parts))
        if kind in (list, tuple):
            return lambda values: kind([p(values) for p in parts])
        return lambda values: [p(values) for p in parts]

    def _mapping(self, fetch: Mapping[Any, Any]) -> Rebuild:
        parts = {k: self._part(v) for k, v in fetch.items()}
        kind: Any = type(fetch)

        def rebuild(values: Sequence[Any]) -> Any:
            out = {k: p(values) for k, p in parts.items()}
            if kind is dict:
                return out
            if hasattr(fetch, "default_factory"):
                return kind(fetch.default_factory, out)
            return kind(out)

        return rebuild

    def _attrs(self, fetch: Any) -> Rebuild:
        names = [a.name for a in type(fetch).__attrs_attrs__]
        parts = {n: self._part(getattr(fetch, n)) for n in names}
        return lambda values: type(fetch)(**{n: p(values) for n, p in parts.items()})

    def _composite(self, elements: Sequence[Any], assemble: Callable[..., Any]) -> Rebuild:
        parts = [self._element(e) for e in elements]
        return lambda values: assemble([p(values) for p in parts])

    def _element(self, fetch: Any) -> Rebuild:
        """A tensor or node, or the name of one; TensorFlow's messages for anything else."""
        try:
            element = self.graph.as_graph_element(fetch)
        except TypeError as error:
            raise TypeError(
                f"Fetch argument {fetch!r} has invalid type {type(fetch)!r}, must be a string or "
                f"Tensor. ({error})"
            ) from None
        except ValueError as error:
            raise ValueError(
                f"Fetch argument {fetch!r} cannot be interpreted as a Tensor. ({error})"
                f"{stranger(fetch, self.graph)}"
            ) from None
        except KeyError as error:
            raise ValueError(
                f"Fetch argument {fetch!r} cannot be interpreted as a Tensor. ({error})"
            ) from None
        if not self.graph.is_fetchable(element):
            raise ValueError(f"Operation {_name(element)!r} has been marked as not fetchable.")
        if isinstance(element, Node):
            self.targets[element] = None
            return lambda values: None
        place = self.tensors.setdefault(element, len(self.tensors))
        return lambda values: values[place]


def _name(element: Any) -> str:
    return str(element.op.name if isinstance(element, Tensor) else element.name)


def _is_attrs(value: Any) -> bool:
    return hasattr(type(value), "__attrs_attrs__")
