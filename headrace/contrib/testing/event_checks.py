"""Checks of summaries, and of what stands in event files."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from headrace.formats import proto
from headrace.formats.records.events import read_events


def assert_summary(
    expected_tags: Iterable[str], expected_simple_values: dict[str, float], summary_proto: Any
) -> None:
    """Check the tags of a summary, and its values to two places.

    Args:
      expected_tags: all tags.
      expected_simple_values: values by tag.
      summary_proto: the Summary.

    Raises:
      ValueError: there are other tags.
      AssertionError: a value differs.
    """
    found = {value.tag for value in summary_proto.value}
    for value in summary_proto.value:
        if value.tag in expected_simple_values:
            expected = expected_simple_values[value.tag]
            np.testing.assert_almost_equal(value.simple_value, expected, decimal=2, err_msg=value.tag)
    if set(expected_tags) != found:
        raise ValueError(f"Expected tags {set(expected_tags)}, got {found}.")


def to_summary_proto(summary_str: bytes) -> Any:
    """The Summary of its octets."""
    return proto.Summary.FromString(summary_str)


def latest_event_file(base_dir: Any) -> str | None:
    """The newest event file of a folder, or None."""
    return max(glob.glob(os.path.join(base_dir, "events.*")), default=None)


def latest_events(base_dir: Any) -> Iterable[Any]:
    """The events of the newest event file of a folder."""
    path = latest_event_file(base_dir)
    return read_events(path) if path else []


def latest_summaries(base_dir: Any) -> list[Any]:
    """Those of them that have a summary."""
    return [event for event in latest_events(base_dir) if event.HasField("summary")]


def simple_values_from_events(events: Iterable[Any], tags: Iterable[str]) -> dict[str, float]:
    """The value of each tag at its last step.

    Args:
      events: the events.
      tags: the tags.

    Raises:
      ValueError: one of them has no plain number.
    """
    wanted, steps = set(tags), dict[str, int]()
    values: dict[str, float] = {}
    for event in events:
        for value in event.summary.value if event.HasField("summary") else ():
            if value.tag not in wanted:
                continue
            if not value.HasField("simple_value"):
                raise ValueError(f"Summary for {value.tag} is not a simple_value.")
            if value.tag not in steps or event.step > steps[value.tag]:
                steps[value.tag], values[value.tag] = event.step, value.simple_value
    return values
