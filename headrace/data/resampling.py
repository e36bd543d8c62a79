"""Datasets mixed or thinned out at random."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.data import sources
from headrace.data.combining import directed_interleave, zip_
from headrace.data.dataset import Dataset
from headrace.data.mapping import map_
from headrace.data.reducing import scan
from headrace.functions.array.array import expand_dims, fill, squeeze
from headrace.functions.array.indexing import gather, one_hot
from headrace.functions.control.cond import cond
from headrace.functions.math.cast import cast
from headrace.functions.math.reduce import reduce_max, reduce_min, reduce_sum
from headrace.functions.random.random import random_uniform
from headrace.functions.strings.print import Print
from headrace.ops.array.tile import tile
from headrace.ops.declaration.constants import constant_value
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math.exponential import log
from headrace.ops.random.random import stateless_multinomial

_BATCH, _SMOOTHING = (
    32,
    10,
)  # examples between two estimates; how often each class is taken to be seen at first


def sample_from_datasets(datasets: Sequence[Dataset], weights: Any = None, seed: Any = None) -> Dataset:
    """Elements of several datasets, each from one that is chosen at random.

    Args:
      datasets: a list of datasets of elements of one form.
      weights: how probable each is: a list, a tensor, or a dataset of such; None: all alike.
      seed: the seed of the choice.
    """
    count = len(datasets)
    numbers = sources.random_dataset(seed).batch(2)
    if isinstance(weights, Dataset):
        logits_of = weights.map(lambda *p: log(p, name="logits"))
        pairs = zip_((logits_of, numbers))
        return directed_interleave(map_(pairs, _chosen, None, preserve_cardinality=False), datasets)
    if weights is None:
        logits: Any = [[1.0] * count]
    else:
        tensor = convert_to_tensor(weights, name="weights")
        if tensor.dtype not in (dtypes.float32, dtypes.float64):
            raise TypeError(
                "`weights` must be convertible to a tensor of `tf.float32` or `tf.float64` elements."
            )
        if not tensor.shape.is_compatible_with([count]):
            raise ValueError("`weights` must be a vector of length `len(datasets)`.")
        logits = expand_dims(log(tensor, name="logits"), 0)
    if count == 1:
        return datasets[0]
    selector = map_(numbers, lambda seeds: _chosen(logits, seeds), None, preserve_cardinality=False)
    return directed_interleave(selector, datasets)


def _chosen(logits: Any, seeds: Any) -> Any:
    return squeeze(stateless_multinomial(logits, 1, seed=seeds), axis=[0, 1])


def rejection_resample(
    class_func: Callable[..., Any], target_dist: Any, initial_dist: Any = None, seed: Any = None
) -> Callable[[Dataset], Dataset]:
    """A transformation that leaves elements out at random, so that classes get another distribution.  Its
    elements are pairs of a class and an element.

    Args:
      class_func: a function from an element to its class, an int32.
      target_dist: the probability of each class afterwards.
      initial_dist: that before; None: it is estimated.
      seed: the seed of what is left out.
    """

    def apply(dataset: Dataset) -> Dataset:
        target = convert_to_tensor(target_dist, name="target_dist")
        classes = dataset.map(class_func)
        known: Any = None
        if initial_dist is not None:
            before = convert_to_tensor(initial_dist, name="initial_dist")
            accepted, kept = _acceptance(before, target)
            initial, acceptance, original = (
                sources.from_tensors(x).repeat() for x in (before, accepted, kept)
            )
            known = _known_share(before, target)
        else:
            initial = _estimated(target, classes)
            both = initial.map(lambda before: _acceptance(before, target))
            acceptance, original = both.map(lambda a, _: a), both.map(lambda _, m: m)
        filtered = _filtered(dataset, acceptance, initial, classes, seed).prefetch(3)
        plain = zip_((classes, dataset))
        if known == 1:
            return plain
        if known == 0:
            return filtered
        shares = original.map(lambda share: [(share, 1.0 - share)])
        return sample_from_datasets([plain, filtered], weights=shares, seed=seed)

    return apply


def _known_share(before: Any, target: Any) -> Any:
    """How much may come from the dataset as it is, where both distributions are constants."""
    first, second = constant_value(before), constant_value(target)
    return None if first is None or second is None else np.min(second / first)


def _acceptance(before: Any, target: Any) -> tuple[Any, Any]:
    """With which probability elements of each class are kept, and how many may be taken as they come.

    A share m of the elements comes straight from the dataset and the rest from the filtered one, where
    class i is kept with probability a_i.  With r_i = target_i / before_i, the least is lost for m = min r and
    a_i = (r_i - m) / (max r - m).
    """
    ratio = target / (before + np.finfo(before.dtype.numpy).tiny)
    least, most = reduce_min(ratio), reduce_max(ratio)
    return (ratio - least) / (most - least), least


def _filtered(
    dataset: Dataset, acceptance: Dataset, initial: Dataset, classes: Dataset, seed: Any
) -> Dataset:
    def warned(accepted: Any, before: Any) -> Any:
        lost = reduce_sum((1 - accepted) * before)
        message = "Proportion of examples rejected by sampler is high: "
        return cond(
            lost < 0.5,
            lambda: accepted,
            lambda: Print(accepted, [lost, before, accepted], message=message, summarize=100, first_n=10),
        )

    probabilities = zip_((acceptance, initial)).map(warned)
    triples = zip_((classes, probabilities, dataset)).map(
        lambda label, probability, data: (label, gather(probability, label), data)
    )
    kept = triples.filter(lambda label, probability, data: random_uniform([], seed=seed) < probability)
    return kept.map(lambda label, probability, data: (label, data))


def _estimated(target: Any, classes: Dataset) -> Dataset:
    """The distribution of the classes so far, for every element."""
    count = target.shape[0].value
    seen = fill([count], np.int64(_SMOOTHING))

    def update(counts: Any, labels: Any) -> Any:
        counts = counts + reduce_sum(one_hot(labels, count, dtype=dtypes.int64), 0)
        found = cast(counts / reduce_sum(counts), dtypes.float32)
        return counts, tile(expand_dims(found, 0), [_BATCH, 1])

    return classes.batch(_BATCH).apply(scan(seen, update)).unbatch()
