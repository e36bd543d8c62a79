"""Choose a device for every node: what the user asked for, merged over each colocated group; else the
default device.  `explain` says why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from headrace.core import options
from headrace.core.device_name import DeviceSpec, parse
from headrace.core.errors import InvalidArgumentError
from headrace.placement.constraints import colocated, uses_state
from headrace.plan.plan import Plan, PlanNode

CanRun = Callable[[str, PlanNode], bool]  # a device's name, a node


def place(
    plan: Plan, devices: Sequence[str], soft: bool = False, can_run: CanRun = lambda name, node: True
) -> Plan:
    """Every node's device becomes one of `devices` (full names, the first is the default) that
    can run it, and what it is colocated with."""
    if len(devices) == 1 and not any(n.device for n in plan.nodes.values()):
        return _placed(plan, dict.fromkeys(plan.nodes, devices[0]))
    available = [(name, parse(name)) for name in devices]
    chosen: dict[str, str] = {}
    for members in colocated(plan).values():
        request = _request(members, soft)
        able = [a for a in available if all(can_run(a[0], n) for n in members)]
        device = _match(request, able)
        if device is None and soft:
            device = _match(_softened(request), able) or (able[0][0] if able else devices[0])
        if device is None:
            raise _impossible(members, request, devices, able)
        chosen |= {n.name: device for n in members}
    return _placed(plan, chosen)


def check_requests(nodes: Sequence[Any], devices: Sequence[str]) -> None:
    """Every request alone can be met by one of the devices."""
    available = [(name, parse(name)) for name in devices]
    met = {""}
    for node in nodes:
        if node.device not in met:
            request = parse(node.device)
            if _match(request, available) is None:
                raise _impossible([node], request, devices)
            met.add(node.device)


def _placed(plan: Plan, chosen: dict[str, str]) -> Plan:
    placed = replace(plan, nodes={n: replace(v, device=chosen[n]) for n, v in plan.nodes.items()})
    if "place" in options.shown():
        options.show("place", explain(placed))
    return placed


def _request(members: Sequence[PlanNode], soft: bool) -> DeviceSpec:
    """What the members of a group ask for together.  Two that contradict are an error; soft
    placement forgets the devices about which they do.  Who only uses state asks last, and is
    passed over where the state is elsewhere."""
    request, said_by = DeviceSpec(), members[0]
    for node in sorted((n for n in members if n.device), key=uses_state):
        asked = parse(node.device)
        if uses_state(node) and not _agree(request, asked):
            continue
        for number, field in enumerate(DeviceSpec.__slots__):
            have, want = getattr(request, field), getattr(asked, field)
            if have is None or want is None or have == want:
                continue
            if soft and field in ("device_type", "device_index"):
                forgotten = dict.fromkeys(DeviceSpec.__slots__[number:])
                request, asked = request.replace(**forgotten), asked.replace(**forgotten)
            else:
                raise InvalidArgumentError(
                    None,
                    node,
                    f"Cannot colocate nodes '{node.name}' and '{said_by.name}' because no device "
                    f"satisfies both: one asks for {asked}, the other for {request}",
                )
        request.merge_from(asked)
        said_by = node
    return request


def _agree(one: DeviceSpec, other: DeviceSpec) -> bool:
    pairs = [(getattr(one, field), getattr(other, field)) for field in DeviceSpec.__slots__]
    return all(a is None or b is None or a == b for a, b in pairs)


def _match(request: DeviceSpec, available: Sequence[tuple[str, DeviceSpec]]) -> str | None:
    return next((name for name, full in available if request.matches(full)), None)


def _softened(request: DeviceSpec) -> DeviceSpec:
    """Soft placement keeps the task and gives up the device."""
    return request.replace(device_type="CPU", device_index=None)


def _impossible(
    members: Sequence[Any],
    request: DeviceSpec,
    devices: Sequence[str],
    able: Sequence[tuple[str, DeviceSpec]] | None = None,
) -> InvalidArgumentError:
    """The error: no such device, or none of its kind that can run the op."""
    node = next((n for n in members if n.device), members[0])
    if able is not None and any(request.matches(parse(name)) for name in devices):
        kinds = ", ".join(sorted({spec.device_type or "" for _, spec in able})) or "none"
        return InvalidArgumentError(
            None,
            node,
            f"Cannot assign a device for operation {node.name}: Could not satisfy explicit device "
            f"specification '{request}' because no supported kernel for {request.device_type} "
            f"devices is available. Kinds of devices that have one: {kinds}.",
        )
    return InvalidArgumentError(
        None,
        node,
        f"Cannot assign a device for operation {node.name}: {{{{node {node.name}}}}} was explicitly "
        f"assigned to {request} but available devices are [ {', '.join(devices)} ]. Make sure the "
        "device specification refers to a valid device.",
    )


def explain(plan: Plan) -> str:
    return "\n".join(f"{n.name}: ({n.op.name}): {n.device}" for n in plan.nodes.values())
