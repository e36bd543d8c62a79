"""In which frame every node of a plan runs: read off Enter and Exit, without running anything."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.core.errors import InvalidArgumentError
from headrace.core.records import record
from headrace.ops.declaration.traits import ENTER, EXIT
from headrace.plan.plan import Plan, PlanNode

Path = tuple[str, ...]  # the names of the frames around, the outermost first


@record
class Frames:
    """Enter and Exit take their inputs in one frame and give their outputs in another."""

    takes: Mapping[str, Path]
    gives: Mapping[str, Path]


def frames_of(plan: Plan) -> Frames:
    """All inputs of a node come from one iteration of one frame: the graph says so, or is refused."""
    takes: dict[str, Path] = {}
    gives: dict[str, Path] = {}
    for node in plan.nodes.values():
        sources = [*(e.node for e in node.inputs), *node.control]
        known = {gives[s]: s for s in sources if s in gives}  # back edges come later
        if len(known) > 1:
            raise _mixed(node, known)
        path = takes[node.name] = next(iter(known), ())
        if ENTER in node.op.traits:
            path = (*path, node.attrs["frame_name"])
        elif EXIT in node.op.traits:
            if not path:
                raise InvalidArgumentError(None, node, f"{node.name} leaves a frame that it is not in")
            path = path[:-1]
        gives[node.name] = path
    return Frames(takes, gives)


def _mixed(node: PlanNode, known: dict[Path, str]) -> InvalidArgumentError:
    first, second = sorted(known)[:2]
    return InvalidArgumentError(
        None,
        node,
        f"{{{{node {node.name}}}}} has inputs from different frames. The input "
        f"{{{{node {known[first]}}}}} is in frame '{'/'.join(first)}'. The input "
        f"{{{{node {known[second]}}}}} is in frame '{'/'.join(second)}'.",
    )
