"""Staging ops: Stage and its relatives (a line), MapStage and OrderedMapStage with theirs (keys).  They find
their area by name: no handle goes from one to the other."""

from __future__ import annotations

import numpy as np

from headrace.core.errors import require
from headrace.core.shapes import SCALAR, UNKNOWN, show
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.resources import keep
from headrace.ops.declaration.shape_rules import none, scalar
from headrace.ops.declaration.signature import Int, Types
from headrace.ops.declaration.traits import DEFERRED, STATEFUL
from headrace.ops.queues.staging_state import Desk, StagedLine, StagedMap

_LIMITS = {"capacity": Int(default=0, min=0), "memory_limit": Int(default=0, min=0)}
_PLACE = {"container": "", "shared_name": ""}
_NEEDED = _LIMITS | {"dtypes": Types(min=1)} | _PLACE
_OPTIONAL = _LIMITS | {"dtypes": Types()} | _PLACE
_WAITS = {STATEFUL, DEFERRED}


def _as_many(*inputs, dtypes):
    return [UNKNOWN] * len(dtypes)


# -- a line --------------------------------------------------------------------------------------
def _line(ctx) -> Desk:
    attrs = ctx.node.attrs
    name = attrs["shared_name"] or ctx.node.name
    new = lambda: Desk(StagedLine(attrs["capacity"], attrs["memory_limit"]))
    return ctx.resources.get_or_make(attrs["container"], "staged line", name, new)


@op("Stage", "values: dtypes ->", attrs=_NEEDED, traits=_WAITS, shape=none)
def stage(ctx, values):
    """Put a tuple aside, when there is room."""
    desk, kept = _line(ctx), [keep(v) for v in values]
    return desk.ask(ctx, lambda: desk.area.put(kept))


@op("Unstage", "-> values: dtypes", attrs=_NEEDED, traits=_WAITS, shape=_as_many)
def unstage(ctx):
    """The tuple that was put aside first."""
    desk = _line(ctx)
    return desk.ask(ctx, desk.area.get)


@op("StagePeek", "index: int32 -> values: dtypes", attrs=_NEEDED, traits=_WAITS, shape=_as_many)
def stage_peek(ctx, index):
    """A tuple that was put aside; it stays there."""
    require(index.size == 1, f"index must be a scalar, not {show(index.shape)}")
    desk = _line(ctx)
    return desk.ask(ctx, lambda: desk.area.peek(index.item()))


@op("StageSize", "-> size: int32", attrs=_OPTIONAL, traits={STATEFUL}, shape=scalar)
def stage_size(ctx):
    """How many tuples are put aside."""
    return np.array(len(_line(ctx).area.items), np.int32)


@op("StageClear", "->", attrs=_OPTIONAL, traits={STATEFUL}, shape=none)
def stage_clear(ctx):
    """Forget what is put aside."""
    desk = _line(ctx)
    return desk.ask(ctx, desk.area.clear)


# -- under keys ----------------------------------------------------------------------------------
def _map(ctx, ordered) -> Desk:
    attrs = ctx.node.attrs
    name = attrs["shared_name"] or ctx.node.name
    kind = "ordered staged map" if ordered else "staged map"

    def new():
        area = StagedMap(len(attrs["dtypes"]), attrs["capacity"], attrs["memory_limit"], ordered)
        return Desk(area)

    return ctx.resources.get_or_make(attrs["container"], kind, name, new)


def _key(key) -> int:
    require(key.size > 0, "key must not be empty")
    require(key.size == 1, f"key must be an int64 scalar, got tensor with shape: {list(key.shape)}")
    return int(key.reshape(-1)[0])


def _named(key, values):
    return None if values is None else [np.array(key, np.int64), *values]


def _declare(prefix, ordered):
    """The seven ops of one kind of map."""

    def map_stage(ctx, key, indices, values):
        """Put components of an element aside, under a key, when there is room."""
        desk, name, kept = _map(ctx, ordered), _key(key), [keep(v) for v in values]
        places = indices.reshape(-1).tolist()
        return desk.ask(ctx, lambda: desk.area.put(name, places, kept))

    def map_peek(ctx, key, indices):
        """Components of the element under a key; they stay there."""
        desk, name, places = _map(ctx, ordered), _key(key), indices.reshape(-1).tolist()
        return desk.ask(ctx, lambda: desk.area.peek(name, places))

    def map_unstage(ctx, key, indices):
        """Components of the element under a key, which are there no longer."""
        desk, name, places = _map(ctx, ordered), _key(key), indices.reshape(-1).tolist()
        return desk.ask(ctx, lambda: desk.area.pop(name, places))

    def map_unstage_no_key(ctx, indices):
        """A key and components of its element: the smallest key if they have an order, else any."""
        desk, places = _map(ctx, ordered), indices.reshape(-1).tolist()

        def attempt():
            found = desk.area.pop_any(places)
            return None if found is None else _named(*found)

        return desk.ask(ctx, attempt)

    def map_size(ctx):
        """How many complete elements are put aside."""
        return np.array(len(_map(ctx, ordered).area.complete), np.int32)

    def map_incomplete_size(ctx):
        """How many elements wait for components."""
        return np.array(len(_map(ctx, ordered).area.incomplete), np.int32)

    def map_clear(ctx):
        """Forget what is put aside."""
        desk = _map(ctx, ordered)
        return desk.ask(ctx, desk.area.clear)

    both = _LIMITS | {"dtypes": Types(), "fake_dtypes": Types(min=1)} | _PLACE
    with_key = "key: int64, indices: int32"
    keyed = lambda indices, *, dtypes: [SCALAR, *_as_many(dtypes=dtypes)]
    found = [
        op(f"{prefix}Stage", f"{with_key}, values: fake_dtypes ->", attrs=both, traits=_WAITS,
           shape=none)(map_stage),
        op(f"{prefix}Peek", f"{with_key} -> values: dtypes", attrs=_NEEDED, traits=_WAITS,
           shape=_as_many)(map_peek),
        op(f"{prefix}Unstage", f"{with_key} -> values: dtypes", attrs=_NEEDED, traits=_WAITS,
           shape=_as_many)(map_unstage),
        op(f"{prefix}UnstageNoKey", "indices: int32 -> key: int64, values: dtypes",
           attrs=_NEEDED, traits=_WAITS, shape=keyed)(map_unstage_no_key),
        op(f"{prefix}Size", "-> size: int32", attrs=_OPTIONAL, traits={STATEFUL},
           shape=scalar)(map_size),
        op(f"{prefix}IncompleteSize", "-> size: int32", attrs=_OPTIONAL, traits={STATEFUL},
           shape=scalar)(map_incomplete_size),
        op(f"{prefix}Clear", "->", attrs=_OPTIONAL, traits={STATEFUL}, shape=none)(map_clear),
    ]  # fmt: skip
    return {declared.name.removeprefix(prefix): declared for declared in found}


MAP_OPS = {ordered: _declare("OrderedMap" if ordered else "Map", ordered) for ordered in (False, True)}
