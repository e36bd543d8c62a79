"""How a distribution is declared: the slopes of log densities; those of densities follow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.autograd.numpy.numpy_wrapper import wrapped
from headrace.autograd.numpy.rules_elementwise import slopes

Slope = Callable[..., Any] | None


def family(
    distribution: Any,
    into: dict[str, Any],
    log_density: Sequence[Slope],
    density: str = "pdf",
    **others: Sequence[Slope],
) -> None:
    """The names of a distribution, put into a module.

    Args:
      log_density: slopes of the logarithm of the density by each argument: `slope(ans, *args)`.
      density: "pdf", or "pmf" of a discrete distribution.
      others: slopes of further functions, by name.
    """
    every = {f"log{density}": log_density, density: [_times_density(s) for s in log_density], **others}
    for name, of_arguments in every.items():
        function = wrapped(getattr(distribution, name))
        slopes(function, *of_arguments)
        into[name] = function
    for name in dir(distribution):
        if name not in into and not name.startswith("_") and callable(getattr(distribution, name)):
            into[name] = getattr(distribution, name)


def _times_density(slope: Slope) -> Slope:
    if slope is None:
        return None
    return lambda ans, *args: ans * slope(ans, *args)
