"""What of a partial run has come and what is still to come.  Pure: names in, errors or a decision out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from headrace.core.errors import InvalidArgumentError
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor


class PartialState:
    """`needs`: the feeds without which a fetch can not be computed."""

    def __init__(
        self, feeds: Sequence[str], fetches: Sequence[str], needs: Callable[[str], frozenset[str]]
    ) -> None:
        self._fed = dict.fromkeys(feeds, False)
        self._fetched = dict.fromkeys(fetches, False)
        self._needs = needs

    def admit(self, feeds: Iterable[str], fetches: Iterable[str]) -> bool:
        """Note one call, or refuse it and change nothing.

        Returns: whether it is the last: then everything was fed and fetched.
        Raises:
          InvalidArgumentError: a name that was not announced or came before, a fetch that lacks feeds.
        """
        feeds, fetches = list(feeds), list(fetches)
        _check(self._fed, feeds, "feed", "fed")
        _check(self._fetched, fetches, "fetch", "fetched")
        known = {name for name, is_fed in self._fed.items() if is_fed}.union(feeds)
        for fetch in fetches:
            missing = self._needs(fetch) - known
            if missing:
                raise InvalidArgumentError(
                    None,
                    None,
                    f"Fetch {fetch} can't be computed from the feeds that have been fed so far: "
                    f"{min(missing)} is missing.",
                )
        self._fed.update(dict.fromkeys(feeds, True))
        self._fetched.update(dict.fromkeys(fetches, True))
        return all(self._fed.values()) and all(self._fetched.values())


def _check(known: dict[str, bool], names: list[str], what: str, done: str) -> None:
    for at, name in enumerate(names):
        if name not in known:
            raise InvalidArgumentError(
                None, None, f"The {what} {name} was not specified in partial_run_setup."
            )
        if known[name] or name in names[:at]:
            raise InvalidArgumentError(None, None, f"The {what} {name} has already been {done}.")


def feeds_of(fetched: Tensor, feeds: Iterable[Tensor]) -> frozenset[Tensor]:
    """The feeds on which a tensor depends; what computes a feed does not count."""
    fed = frozenset(feeds)
    if fetched in fed:
        return frozenset({fetched})
    found: set[Tensor] = set()
    seen: set[Node] = set()
    stack = [fetched.op]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        found.update(t for t in node.inputs if t in fed)
        stack += [t.op for t in node.inputs if t not in fed]
        stack += node._control_inputs
    return frozenset(found)
