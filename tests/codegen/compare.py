"""Run a graph twice, compiled and on the reference, and compare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.codegen.regions.regions import Region
from headrace.devices import reference
from headrace.devices.compiled import MixedProgram
from headrace.devices.region_unit import RegionUnit
from headrace.passes.pipeline import improve
from headrace.plan.prune import prune
from headrace.plan.structure import structured
from headrace.runtime.containers import Containers
from headrace.runtime.step import Step
from headrace.runtime.straight import has_control_flow


class Runner:
    """One signature of a graph.  `compiled` and `reference` have state of their own."""

    def __init__(
        self,
        graph: Any,
        feeds: Sequence[Any],
        fetches: Sequence[Any],
        targets: Any = (),
        improved: bool = False,
    ):
        self.plan = prune(graph, list(feeds), list(fetches), list(targets))
        if improved:
            self.plan = improve(self.plan)
        straight = structured(self.plan) if has_control_flow(self.plan) else self.plan
        assert straight is not None, "the plan is not made of loops and conditionals"
        self.program = MixedProgram(straight)
        self.program_units()
        self.oracle = reference.prepare(self.plan)

    def program_units(self) -> None:
        for unit in self.program.units:
            if isinstance(unit, RegionUnit):
                unit.machine.light = -1  # compiled at once

    def run(self, resources: Containers, arrays: Sequence[Any]) -> list[Any]:
        results = self.program.run(Step(resources), arrays)
        self.program_units()
        return results

    def expected(self, resources: Containers, arrays: Sequence[Any]) -> list[Any]:
        return self.oracle.run(Step(resources), arrays)

    @property
    def regions(self) -> list[Region]:
        return [u.region for u in self.program.units if isinstance(u, RegionUnit)]

    @property
    def is_whole(self) -> bool:
        """Everything is one region, and it was compiled."""
        units = self.program.units
        return len(units) == 1 and isinstance(units[0], RegionUnit) and self.was_compiled

    @property
    def was_compiled(self) -> bool:
        regions = [u for u in self.program.units if isinstance(u, RegionUnit)]
        return bool(regions) and all(any(u.machine.programs.values()) for u in regions)


def settled(runner: Runner, arrays: Sequence[Any], make: Any = Containers) -> tuple[list[Any], Any]:
    """Results and state, once every node that does not compile has been found."""
    for _ in range(len(runner.plan.nodes) + 1):
        before = dict(runner.program.declined)
        resources = make()
        results = runner.run(resources, arrays)
        if runner.program.declined == before:
            return results, resources
    raise AssertionError("never settles")


def assert_same(got: Any, want: Any, tolerance: float | None = None, name: str = "") -> None:
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype, (name, got.dtype, want.dtype)
    assert got.shape == want.shape, (name, got.shape, want.shape)
    if want.dtype == object or want.dtype.kind in "iub":
        np.testing.assert_array_equal(got, want, err_msg=name)
        return
    loose = tolerance or {2: 2e-2, 4: 2e-5, 8: 1e-11}[want.real.dtype.itemsize]
    if want.dtype.kind != "c":
        got, want = got.astype(np.float64), want.astype(np.float64)
    scale = np.abs(want[np.isfinite(want)]).max(initial=0.0)
    np.testing.assert_allclose(got, want, rtol=loose, atol=loose * max(scale, 1e-30), err_msg=name)
