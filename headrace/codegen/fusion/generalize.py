"""Kernel -> shape-generic kernel: extents, strides and other numbers from shapes become arguments.

In: a Kernel over arrays with concrete shapes.  Out: `Lifted`, whose text is its identity (two
kernels of equal text share native code) and whose `params` are this use's numbers.  Strides 0 and
1 stay in the text, because they decide how memory is read.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from headrace.codegen.ir.float_ranges import BOUNDED, FloatRanges, coarse
from headrace.codegen.ir.kernel import Acc, Accumulate, Kernel, Store, Sweep
from headrace.codegen.ir.kernel_ir import BOOL, INDEX, Array, Expr, Kind, Var, const, make
from headrace.codegen.ir.ranges import in_bounds
from headrace.codegen.ir.stages import memory
from headrace.codegen.ir.traverse import walk
from headrace.core.records import record
from headrace.core.sizes import is_open, whole

STRUCTURAL = (0, 1, -1)
BLOCK = 64  # rounds of a loop with float sums after which these are put aside


@record
class LiftedStore:
    buffer: int
    offset: Expr
    guard: Expr | None
    value: Expr
    how: str


@record
class LiftedAccumulate:
    acc: int
    how: str
    value: Expr


@record
class LiftedSweep:
    loops: tuple[int, ...]
    actions: tuple[LiftedStore | LiftedAccumulate, ...]
    is_vector: bool
    tile: tuple[int, ...] | None
    is_long: bool  # its float sums are added up in pairs of blocks (codegen.emit.llvm_pairwise)


@dataclass(slots=True)
class Lifted:
    """What LLVM code is made from, and what a call of it passes."""

    name: str
    lanes: int
    unroll: int
    is_ranged: bool
    rows: tuple[int, ...] = ()
    sweeps: list[LiftedSweep] = field(default_factory=list)
    extents: dict[int, int] = field(default_factory=dict)  # loop -> param
    buffers: list[Array] = field(default_factory=list)
    written: set[int] = field(default_factory=set)
    temporaries: dict[int, int] = field(default_factory=dict)  # buffer -> param: bytes per thread
    params: list[int] = field(default_factory=list)
    width: int = 1
    text: str = ""


def lift(kernel: Kernel) -> Lifted:
    return _Lift(kernel).run()


def strides(shape: tuple[int, ...]) -> list[int]:
    """Elements from one index to the next, dimension by dimension."""
    return [prod(shape[axis + 1 :]) for axis in range(len(shape))]


class _Lift:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.out = Lifted(kernel.name, kernel.lanes, kernel.unroll, kernel.is_ranged)
        self.loops: dict[Var, int] = {}
        self.accs: dict[Acc, int] = {}
        self.buffers: dict[Array, int] = {}
        self.ranges = FloatRanges()
        self.memo: dict[int, Expr] = {}
        self.keep: list[Expr] = []  # keeps ids in `memo` valid

    def run(self) -> Lifted:
        kernel, out = self.kernel, self.out
        out.rows = tuple(self.loop(v) for v in kernel.rows)
        for sweep in kernel.sweeps:
            loops = tuple(self.loop(v) for v in sweep.loops)
            actions = tuple(self.action(a) for a in sweep.actions)
            tile = None if sweep.tile is None else tuple(map(self.loop, sweep.tile))
            is_long = self.is_long(sweep)
            out.sweeps.append(LiftedSweep(loops, actions, sweep.is_vector, tile, is_long))
        out.width = kernel.width
        out.text = describe(out)
        return out

    def param(self, value: int) -> int:
        self.out.params.append(whole(value))
        return len(self.out.params) - 1

    def loop(self, v: Var) -> int:
        if v not in self.loops:
            number = self.loops[v] = len(self.loops)
            self.out.extents[number] = self.param(v.extent)
        return self.loops[v]

    def acc(self, acc: Acc) -> int:
        return self.accs.setdefault(acc, len(self.accs))

    def buffer(self, shown: Array) -> int:
        array = memory(shown)
        number = self.buffers.get(array)
        if number is None:
            number = self.buffers[array] = len(self.buffers)
            self.out.buffers.append(array)
            if array in self.kernel.temporaries:
                self.out.temporaries[number] = self.param(-(-array.nbytes // 64) * 64)
        return number

    def action(self, action: Store | Accumulate) -> LiftedStore | LiftedAccumulate:
        if isinstance(action, Accumulate):
            value = self.expr(action.value)
            return LiftedAccumulate(self.acc(action.acc), action.acc.how, value)
        number = self.buffer(action.array)
        self.out.written.add(number)
        value = self.expr(action.value)
        offset, guard = self.address(action.array, action.index)
        return LiftedStore(number, offset, guard, value, action.how)

    def is_long(self, sweep: Sweep) -> bool:
        """Whether an accumulator has many rounds."""
        k = self.kernel
        sums = [a.acc for a in sweep.actions if isinstance(a, Accumulate)]
        each = k.unroll * k.lanes if sweep.is_vector else k.unroll if k.width > 1 else 1
        *outer, last = [v.extent for v in sweep.loops] or [1]
        rounds = prod(outer) * -(-last // each)
        return (is_open(rounds) or rounds > BLOCK) and any(s.how == "sum" and s.kind.is_float for s in sums)

    # -- expressions -------------------------------------------------------------------------
    def expr(self, root: Expr) -> Expr:
        for x in walk(root):
            if id(x) not in self.memo:
                self.memo[id(x)] = self.one(x)
                self.keep.append(x)
        return self.memo[id(root)]

    def one(self, x: Expr) -> Expr:
        """An expression whose arguments are lifted: loops and reductions by number, numbers from
        shapes as parameters."""
        match x.op:
            case "var":
                return make("loop", (), INDEX, self.loop(x.extra))
            case "acc":
                name = "lane_result" if x.extra.is_wide else "result"
                return make(name, (), x.kind, self.acc(x.extra))
            case "size":
                return _cast(self.number(x.extra), x.kind)
            case "const" if x.kind is INDEX:
                return self.number(x.extra)
            case "load":
                return self.load(x)
            case "clamp":
                top = self.number(max(x.extra - 1, 0), always=True)
                return make("clamp", (self.memo[id(x.args[0])], top), INDEX)
            case "reduce":
                how, loops = x.extra
                numbers = tuple(self.loop(v) for v in loops)
                rounds = prod(v.extent for v in loops)
                is_long = how == "sum" and x.kind.is_float and (is_open(rounds) or rounds > BLOCK)
                return make("fold", (self.memo[id(x.args[0])],), x.kind, (how, numbers, is_long))
        extra = coarse(self.ranges.of(x.args[0])) if x.op in BOUNDED else x.extra
        return make(x.op, tuple(self.memo[id(a)] for a in x.args), x.kind, extra)

    def number(self, value: int, always: bool = False) -> Expr:
        for plain in () if always else STRUCTURAL:
            if value == plain:
                return const(plain, INDEX)
        return make("param", (), INDEX, self.param(value))

    def load(self, x: Expr) -> Expr:
        number = self.buffer(x.extra)
        offset, guard = self.address(x.extra, x.args)
        args = (offset,) if guard is None else (offset, guard)
        return make("fetch", args, x.kind, number)

    def address(self, array: Array, index: tuple[Expr, ...]) -> tuple[Expr, Expr | None]:
        """The offset in elements, and where not all of it is provably inside, the test for that."""
        guard: Expr | None = None
        for i, n, inside in zip(index, array.shape, in_bounds(index, array.shape)):
            if not inside:
                at = self.expr(i)
                low = make("ge", (at, const(0, INDEX)), BOOL)
                high = make("lt", (at, self.number(n, always=True)), BOOL)
                both = make("and", (low, high), BOOL)
                guard = both if guard is None else make("and", (guard, both), BOOL)
        terms, start = linear(index, strides(array.shape))
        total: Expr | None = None
        for atom, factor in terms:
            term = self.expr(atom)
            if factor != 1:
                term = make("mul", (term, self.number(factor)), INDEX)
            total = term if total is None else make("add", (total, term), INDEX)
        if start:
            # A constant offset is an argument even where it is 1: another use may have 5.
            rest = self.number(start, always=True)
            total = rest if total is None else make("add", (total, rest), INDEX)
        return total if total is not None else const(0, INDEX), guard


def linear(index: tuple[Expr, ...], factors: list[int]) -> tuple[list[tuple[Expr, int]], int]:
    """sum(index * factor) as ([(atom, factor)], constant); an atom is a loop or opaque."""
    found: dict[int, tuple[Expr, int]] = {}
    start = 0
    stack = [(i, f) for i, f in zip(index, factors) if f]
    while stack:
        x, factor = stack.pop(0)
        if x.op == "const":
            start += x.extra * factor
        elif x.op in ("add", "sub"):
            sign = 1 if x.op == "add" else -1
            stack[:0] = [(x.args[0], factor), (x.args[1], sign * factor)]
        elif x.op == "mul" and x.args[1].op == "const":
            stack.insert(0, (x.args[0], factor * x.args[1].extra))
        elif x.op == "mul" and x.args[0].op == "const":
            stack.insert(0, (x.args[1], factor * x.args[0].extra))
        else:
            before = found.get(id(x), (x, 0))[1]
            found[id(x)] = (x, before + factor)
    return [(x, f) for x, f in found.values() if f], start


def _cast(x: Expr, kind: Kind) -> Expr:
    return x if kind is INDEX else make("cast", (x,), kind)


# -- identity ------------------------------------------------------------------------------------
def describe(k: Lifted) -> str:
    """The kernel as text; equal texts mean equal code."""
    names: dict[int, str] = {}
    lines: list[str] = []

    def show(root: Expr) -> str:
        for x in walk(root):
            if id(x) not in names:
                names[id(x)] = f"%{len(names)}"
                args = " ".join(names[id(a)] for a in x.args)
                if is_open(x.extra):
                    raise AssertionError(f"{x.op} of an open size in a kernel's identity")
                extra = "" if x.extra is None else f" {x.extra}"
                lines.append(f"  {names[id(x)]}:{x.kind} = {x.op}{extra} {args}".rstrip())
        return names[id(root)]

    for number, array in enumerate(k.buffers):
        role = "row" if number in k.temporaries else "out" if number in k.written else "in"
        lines.append(f"buffer {number} {array.kind} {role} {k.temporaries.get(number, '')}".rstrip())
    extents = " ".join(f"{loop}<p{p}" for loop, p in k.extents.items())
    lines.append(f"rows {k.rows} loops {extents}")
    for sweep in k.sweeps:
        tile = "" if sweep.tile is None else f" tile {sweep.tile}"
        form = f"{' vector' if sweep.is_vector else ''}{' long' if sweep.is_long else ''}"
        lines.append(f"sweep {sweep.loops}{form}{tile}")
        for a in sweep.actions:
            if isinstance(a, LiftedStore):
                guard = "" if a.guard is None else f" if {show(a.guard)}"
                value, offset = show(a.value), show(a.offset)
                lines.append(f"  {a.how} {a.buffer}[{offset}] {value}{guard}")
            else:
                lines.append(f"  acc {a.acc} {a.how} {show(a.value)}")
    ranged = " ranged" if k.is_ranged else ""
    ranged += f" width {k.width}" if k.width > 1 else ""
    return f"kernel lanes {k.lanes} unroll {k.unroll}{ranged}\n" + "\n".join(lines) + "\n"
