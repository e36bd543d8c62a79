"""tf.data.Options and the sets of options in it.  An option that nobody set has its default, and two sets go
together unless they set one option differently."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any


class OptionsBase:
    """A set of options."""

    def __init__(self) -> None:
        object.__setattr__(self, "_options", {})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        names = {*vars(self)["_options"], *vars(other)["_options"]}
        return all(getattr(self, name) == getattr(other, name) for name in names)

    def __ne__(self, other: object) -> bool:
        return not self == other if isinstance(other, type(self)) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __setattr__(self, name: str, value: Any) -> None:
        if not hasattr(self, name):
            raise AttributeError(f"Cannot set the property {name} on {type(self).__name__}.")
        object.__setattr__(self, name, value)


def create_option(
    name: str, ty: Any, docstring: str, default_factory: Callable[[], Any] = lambda: None
) -> Any:
    """A property that takes values of one type, or None."""

    def get(self: Any) -> Any:
        options = vars(self)["_options"]
        if name not in options:
            options[name] = default_factory()
        return options[name]

    def set_(self: Any, value: Any) -> None:
        if value is not None and not isinstance(value, ty):
            raise TypeError(f'Property "{name}" must be of type {ty}, got: {value!r} (type: {type(value)!r})')
        vars(self)["_options"][name] = value

    return property(get, set_, None, docstring)


def merge_options(*options_list: Any) -> Any:
    """All that is set in any of them.

    Raises:
      TypeError: they are not of one kind.
      ValueError: two set an option differently.
    """
    if not options_list:
        raise ValueError("At least one options should be provided")
    kind = type(options_list[0])
    for options in options_list:
        if not isinstance(options, kind):
            raise TypeError(f"Incompatible options type: {type(options)!r} vs {kind!r}")
    if not isinstance(options_list[0], OptionsBase):
        raise TypeError("The inputs should inherit from `OptionsBase`")
    default, result = kind(), kind()
    for options in options_list:
        for name in vars(options)["_options"]:
            this, that = getattr(result, name), getattr(options, name)
            if that == getattr(default, name):
                continue
            if this == getattr(default, name):
                setattr(result, name, that)
            elif isinstance(this, OptionsBase):
                setattr(result, name, merge_options(this, that))
            elif this != that:
                raise ValueError(
                    f"Cannot merge incompatible values ({this!r} and {that!r}) of option: {name}"
                )
    return result


class AutoShardPolicy(enum.IntEnum):
    """How a dataset is divided among workers."""

    OFF, AUTO, FILE, DATA = -1, 0, 1, 2


class DistributeOptions(OptionsBase):
    """Options for datasets that are divided among workers."""

    auto_shard = create_option("auto_shard", bool, "Whether the dataset is divided among workers.")
    auto_shard_policy = create_option("auto_shard_policy", AutoShardPolicy, "How it is divided.")
    num_devices = create_option("num_devices", int, "How many devices take elements.")
    _make_stateless = create_option(
        "_make_stateless", bool, "Whether random and other stateful parts are made stateless."
    )


class MapVectorizationOptions(OptionsBase):
    """Options for maps that are run on whole batches."""

    enabled = create_option("enabled", bool, "Whether a map before a batch runs on the batch.")
    use_choose_fastest = create_option(
        "use_choose_fastest", bool, "Whether the faster of both forms is found at run time."
    )

    def _static_optimizations(self) -> list[str]:
        return ["map_vectorization"] if self.enabled else []

    def _static_optimization_configs(self) -> list[str]:
        return [f"map_vectorization:use_choose_fastest:{'true' if self.use_choose_fastest else 'false'}"]


_PLAIN = (
    "filter_fusion filter_with_random_uniform_fusion hoist_random_uniform map_and_batch_fusion "
    "map_and_filter_fusion map_parallelization map_fusion noop_elimination parallel_batch "
    "shuffle_and_repeat_fusion"
).split()
_BY_DEFAULT = "map_and_batch_fusion noop_elimination shuffle_and_repeat_fusion".split()


class OptimizationOptions(OptionsBase):
    """Options for what is done to a pipeline before it runs."""

    apply_default_optimizations = create_option(
        "apply_default_optimizations", bool, "Whether what is usual is done; default True."
    )
    autotune = create_option("autotune", bool, "Whether parallelism and buffers are tuned; default True.")
    autotune_algorithm = create_option("autotune_algorithm", int, "How they are tuned.")
    autotune_buffers = create_option("autotune_buffers", bool, "Whether buffers are added where that helps.")
    autotune_cpu_budget = create_option("autotune_cpu_budget", int, "How many cores may be used.")
    filter_fusion = create_option("filter_fusion", bool, "Whether filters become one.")
    filter_with_random_uniform_fusion = create_option(
        "filter_with_random_uniform_fusion", bool, "Whether a random filter becomes a sampling."
    )
    hoist_random_uniform = create_option(
        "hoist_random_uniform", bool, "Whether random numbers are drawn outside of maps."
    )
    map_and_batch_fusion = create_option(
        "map_and_batch_fusion", bool, "Whether a map and a batch become one; default True."
    )
    map_and_filter_fusion = create_option(
        "map_and_filter_fusion", bool, "Whether a map and a filter become one."
    )
    map_fusion = create_option("map_fusion", bool, "Whether maps become one.")
    map_parallelization = create_option("map_parallelization", bool, "Whether maps run in parallel.")
    map_vectorization = create_option(
        "map_vectorization", MapVectorizationOptions, "Maps on whole batches.", MapVectorizationOptions
    )
    noop_elimination = create_option(
        "noop_elimination", bool, "Whether what does nothing is left out; default True."
    )
    parallel_batch = create_option("parallel_batch", bool, "Whether batches are copied in parallel.")
    prefetch_to_device = create_option("prefetch_to_device", str, "The device that elements go to.")
    shuffle_and_repeat_fusion = create_option(
        "shuffle_and_repeat_fusion", bool, "Whether a shuffle and a repeat become one; default True."
    )

    def _static_optimizations(self) -> list[str]:
        found = {name for name in _PLAIN if getattr(self, name)}
        if self.apply_default_optimizations is not False:
            found |= {name for name in _BY_DEFAULT if getattr(self, name) is not False}
        if self.map_vectorization is not None:
            found.update(self.map_vectorization._static_optimizations())
        if self.autotune is not False and self.autotune_buffers:
            found.add("inject_prefetch")
        return sorted(found)

    def _static_optimization_configs(self) -> list[str]:
        vectorization = self.map_vectorization
        return [] if vectorization is None else list(vectorization._static_optimization_configs())


class StatsOptions(OptionsBase):
    """Options for statistics of a pipeline."""

    aggregator = create_option("aggregator", object, "The StatsAggregator that gathers them.")
    prefix = create_option("prefix", str, "What their names start with.", lambda: "")
    counter_prefix = create_option("counter_prefix", str, "What names of counters start with.", lambda: "")
    latency_all_edges = create_option("latency_all_edges", bool, "Whether every step is timed.")


class ThreadingOptions(OptionsBase):
    """Options for threads."""

    max_intra_op_parallelism = create_option(
        "max_intra_op_parallelism", int, "How many threads one op may use."
    )
    private_threadpool_size = create_option(
        "private_threadpool_size", int, "How many calls run at once in this pipeline."
    )


class Options(OptionsBase):
    """Options of a dataset: `dataset.with_options(options)`.

    Example:
      >>> options = tf.data.Options()
      >>> options.experimental_deterministic = False
      >>> dataset = tf.data.Dataset.range(3).with_options(options)
    """

    experimental_deterministic = create_option(
        "experimental_deterministic", bool, "Whether elements keep their order; default True."
    )
    experimental_distribute = create_option(
        "experimental_distribute", DistributeOptions, "For workers.", DistributeOptions
    )
    experimental_optimization = create_option(
        "experimental_optimization", OptimizationOptions, "What is improved.", OptimizationOptions
    )
    experimental_slack = create_option(
        "experimental_slack", bool, "Whether the last prefetch leaves the processor to a step's start."
    )
    experimental_stats = create_option("experimental_stats", StatsOptions, "Statistics.", StatsOptions)
    experimental_threading = create_option(
        "experimental_threading", ThreadingOptions, "Threads.", ThreadingOptions
    )
    experimental_stateful_whitelist = create_option(
        "experimental_stateful_whitelist", list, "Ops whose state may be left out of a saved position."
    )

    def _static_optimizations(self) -> list[str]:
        found = list(self.experimental_optimization._static_optimizations())
        if self.experimental_deterministic is False:
            found.append("make_sloppy")
        if self.experimental_stats and self.experimental_stats.latency_all_edges:
            found.append("latency_all_edges")
        if self.experimental_slack and self.experimental_optimization.prefetch_to_device is None:
            found.append("slack")
        if self.experimental_distribute and self.experimental_distribute._make_stateless:
            found.append("make_stateless")
        return found

    def _static_optimization_configs(self) -> list[str]:
        found: list[str] = []
        if self.experimental_optimization:
            found += self.experimental_optimization._static_optimization_configs()
        if self.experimental_slack:
            found.append(f"slack:slack_period:{self.experimental_distribute.num_devices or 1}")
        return found

    def merge(self, options: Any) -> Any:
        """These and others together.

        Raises:
          ValueError: an option is set differently in both.
        """
        return merge_options(self, options)
