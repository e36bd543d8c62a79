"""Candidate samplers: classes to train against (tf.random.*_candidate_sampler)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.functions.random.random_seed import get_seed
from headrace.ops.nn import candidates


def _sampler(called: str, op: Any, does: str) -> Callable[..., Any]:
    def sample(
        true_classes: Any,
        num_true: int,
        num_sampled: int,
        unique: bool,
        range_max: int,
        seed: int | None = None,
        name: str | None = None,
    ) -> Any:
        seed1, seed2 = get_seed(seed)
        return op(true_classes, num_true, num_sampled, unique, range_max, seed=seed1, seed2=seed2, name=name)

    sample.__name__ = sample.__qualname__ = called
    sample.__doc__ = f"""{does}

    Args:
      true_classes: [batch, num_true], int64: the classes of the examples.
      num_true: how many per example.
      num_sampled: how many classes to sample for the whole batch.
      unique: no class twice.
      range_max: how many classes there are.
      seed: seed of the op (see `tf.set_random_seed`).
      name: name of the node.

    Returns:
      sampled_candidates: [num_sampled], the classes.
      true_expected_count: [batch, num_true], how often each true class was to be expected.
      sampled_expected_count: [num_sampled], the same for the sampled ones.
    """
    return sample


uniform_candidate_sampler = _sampler(
    "uniform_candidate_sampler", candidates.uniform_candidate_sampler, "Classes, all alike likely."
)
log_uniform_candidate_sampler = _sampler(
    "log_uniform_candidate_sampler",
    candidates.log_uniform_candidate_sampler,
    "Classes by Zipf's law, for classes in order of falling frequency.",
)
learned_unigram_candidate_sampler = _sampler(
    "learned_unigram_candidate_sampler",
    candidates.learned_unigram_candidate_sampler,
    "Classes as often as they have been true in training so far.",
)


def fixed_unigram_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    vocab_file: str = "",
    distortion: float = 1.0,
    num_reserved_ids: int = 0,
    num_shards: int = 1,
    shard: int = 0,
    unigrams: Sequence[float] = (),
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Classes by given frequencies.

    Args:
      true_classes: [batch, num_true], int64: the classes of the examples.
      num_true: how many per example.
      num_sampled: how many classes to sample for the whole batch.
      unique: no class twice.
      range_max: how many classes there are.
      vocab_file: a file whose last comma-separated column has the frequencies.
      distortion: the frequencies are raised to this power.
      num_reserved_ids: the first ids have frequency zero.
      num_shards: into how many parts the classes are divided.
      shard: which part to sample from.
      unigrams: the frequencies, in place of a file.
      seed: seed of the op (see `tf.set_random_seed`).
      name: name of the node.

    Returns: as the other samplers.
    """
    seed1, seed2 = get_seed(seed)
    return candidates.fixed_unigram_candidate_sampler(
        true_classes,
        num_true,
        num_sampled,
        unique,
        range_max,
        vocab_file=vocab_file,
        distortion=distortion,
        num_reserved_ids=num_reserved_ids,
        num_shards=num_shards,
        shard=shard,
        unigrams=unigrams,
        seed=seed1,
        seed2=seed2,
        name=name,
    )


def all_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """All classes below `num_sampled`, each once: for tests.

    Args: as for the other samplers.

    Returns: as the other samplers.
    """
    seed1, seed2 = get_seed(seed)
    return candidates.all_candidate_sampler(
        true_classes, num_true, num_sampled, unique, seed=seed1, seed2=seed2, name=name
    )


def compute_accidental_hits(
    true_classes: Any,
    sampled_candidates: Any,
    num_true: int,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Where a sampled class is a true class of an example.

    Args:
      true_classes: [batch, num_true], int64.
      sampled_candidates: [num_sampled], int64.
      num_true: how many true classes per example.
      seed: not used; counts as an op's seed.
      name: name of the node.

    Returns:
      indices: rows of `true_classes`; ids: places in `sampled_candidates`; weights: the most
      negative float for each, to be added to logits.
    """
    seed1, seed2 = get_seed(seed)
    return candidates.compute_accidental_hits(
        true_classes, sampled_candidates, num_true, seed=seed1, seed2=seed2, name=name
    )
