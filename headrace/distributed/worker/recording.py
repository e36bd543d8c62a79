"""What a master wants to know of the run of a part, and where it is written.

A step that nobody watches has none, and pays nothing for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from headrace.formats import proto


@dataclass(slots=True)
class Recording:
    """`metadata` (RunMetadata) has what was asked for when the part has ended."""

    timeline: bool = False
    costs: bool = False
    graphs: bool = False
    metadata: Any = field(default_factory=proto.RunMetadata)

    @property
    def wants(self) -> bool:
        return self.timeline or self.costs or self.graphs

    def like(self) -> Recording:
        """Another one, for another part."""
        return Recording(self.timeline, self.costs, self.graphs)

    # -- as messages -----------------------------------------------------------------------------
    def to_options(self) -> Any:
        return proto.ExecutorOpts(
            record_timeline=self.timeline, record_costs=self.costs, record_partition_graphs=self.graphs
        )

    @staticmethod
    def from_options(options: Any) -> Recording | None:
        """None where nothing is asked for."""
        found = Recording(options.record_timeline, options.record_costs, options.record_partition_graphs)
        return found if found.wants else None

    def to_response(self, response: Any) -> None:
        """Into a RunGraphResponse."""
        response.step_stats.MergeFrom(self.metadata.step_stats)
        response.cost_graph.MergeFrom(self.metadata.cost_graph)
        response.partition_graph.extend(self.metadata.partition_graphs)

    def from_response(self, response: Any) -> None:
        self.metadata.step_stats.MergeFrom(response.step_stats)
        self.metadata.cost_graph.MergeFrom(response.cost_graph)
        self.metadata.partition_graphs.extend(response.partition_graph)
