"""Statistics of pipelines: what aggregators say after the elements have come."""

from __future__ import annotations

import headrace as tf

experimental = tf.data.experimental


def gathered(dataset, prefix=""):
    """All elements, and what the pipeline told its aggregator, by name."""
    aggregator, options = experimental.StatsAggregator(), tf.data.Options()
    options.experimental_stats.aggregator = aggregator
    options.experimental_stats.prefix = prefix
    iterator = dataset.with_options(options).make_initializable_iterator()
    following, summary = iterator.get_next(), aggregator.get_summary()
    found = []
    with tf.Session() as session:
        session.run(iterator.initializer)
        try:
            while True:
                found.append(session.run(following).tolist())
        except tf.errors.OutOfRangeError:
            pass
        values = tf.Summary.FromString(session.run(summary)).value
    return found, {v.tag: v.histo if v.HasField("histo") else v.simple_value for v in values}


def test_bytes_and_latencies():
    dataset = tf.data.Dataset.range(1, 20).map(lambda x: tf.fill([x], x))
    dataset = dataset.apply(experimental.bytes_produced_stats("bytes")).apply(
        experimental.latency_stats("latency")
    )
    found, stats = gathered(dataset)
    assert found == [[i] * i for i in range(1, 20)]
    assert (stats["bytes"].num, stats["bytes"].sum) == (19, 8 * sum(range(1, 20)))
    assert stats["latency"].num == 19 and stats["latency"].min >= 0
    assert sum(stats["bytes"].bucket) == 19 and stats["bytes"].max == 19 * 8


def test_strings_count_with_their_heads():
    dataset = tf.data.Dataset.from_tensors(["abc", "d"]).apply(experimental.bytes_produced_stats("bytes"))
    _, stats = gathered(dataset)
    assert stats["bytes"].sum == 2 * 24 + 4


def test_filters_and_buffers_tell_what_they_do():
    dataset = tf.data.Dataset.range(10).filter(lambda x: x < 4).prefetch(2)
    found, stats = gathered(dataset, prefix="mine")
    assert found == [0, 1, 2, 3]
    values = {name.partition("::")[2].partition("::")[2]: value for name, value in stats.items()}
    assert values["filtered_elements"] == 4 and values["dropped_elements"] == 6
    assert values["buffer_capacity"] == 2 and 0 <= values["buffer_utilization"].max <= 1
    assert all(name.startswith("mine::") for name in stats)


def test_without_an_aggregator_nothing_is_gathered():
    dataset = tf.data.Dataset.range(3).apply(experimental.latency_stats("latency"))
    following = dataset.make_one_shot_iterator().get_next()
    with tf.Session() as session:
        assert [session.run(following) for _ in range(3)] == [0, 1, 2]
