"""What OptimizeDataset does to a description before it runs: the same elements in less time."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence

from headrace.ops.data.pipeline.dataset import Dataset, Unary

Rule = Callable[[Dataset], Dataset]


def rebuilt(dataset: Dataset, rule: Rule) -> Dataset:
    """The description with `rule` applied to every part, inputs first."""
    inputs = tuple(rebuilt(x, rule) for x in dataset.inputs)
    if any(a is not b for a, b in zip(inputs, dataset.inputs)):
        dataset = copy.copy(dataset)
        dataset.inputs = inputs
        if isinstance(dataset, Unary):
            dataset.source = inputs[0]
    return rule(dataset)


def make_sloppy(dataset: Dataset) -> Dataset:
    """What runs in parallel gives elements in the order in which they are ready."""
    if getattr(dataset, "sloppy", None) is False:
        dataset = copy.copy(dataset)
        dataset.sloppy = True  # type: ignore[attr-defined]
    return dataset


RULES: dict[str, Rule] = {"make_sloppy": make_sloppy}


def optimized(dataset: Dataset, names: Sequence[str], configs: Sequence[str]) -> Dataset:
    """The description with the rules of these names applied.  Others are nothing to us: what they save is
    not spent here."""
    for name in names:
        rule = RULES.get(name)
        if rule is not None:
            dataset = rebuilt(dataset, rule)
    return dataset
