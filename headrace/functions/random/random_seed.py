"""Seeds: what a graph seed and an op's seed together give the op."""

from __future__ import annotations

from headrace.graph.defaults import get_default_graph

DEFAULT_GRAPH_SEED = 87654321
_LARGEST = 2**31 - 1


def get_seed(op_seed: int | None) -> tuple[int | None, int | None]:
    """The two seeds of an op.

    Neither seed given: (None, None), different numbers at every run.  A graph seed alone: the
    number of nodes made so far stands in for the op's seed.  An op seed alone: a fixed graph seed.

    Args:
      op_seed: the seed that the op was given, or None.

    Returns:
      Two integers, or (None, None).
    """
    graph = get_default_graph()
    if graph.seed is not None:
        if op_seed is None:
            op_seed, graph._seed_used = graph._last_id, True
        seeds = graph.seed % _LARGEST, op_seed % _LARGEST
    elif op_seed is not None:
        seeds = DEFAULT_GRAPH_SEED, op_seed % _LARGEST
    else:
        return None, None
    # Two zeros mean "no seed" to the ops.
    return (0, _LARGEST) if seeds == (0, 0) else seeds


def set_random_seed(seed: int | None) -> None:
    """Set the seed of the default graph, so that random ops give the same in every session.

    Args:
      seed: an integer, or None for none.
    """
    get_default_graph().seed = seed
