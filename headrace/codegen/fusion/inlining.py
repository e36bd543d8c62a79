"""Which arrays are never stored, because their readers compute them.

In: the stages of a program and which of them must be in memory.  Out: for every stage that stays,
its body with the others put in.  An element-wise stage is put into its reader when it has only
one, or when computing it again costs less than reading it; reshapes are pushed through to what
they read.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from headrace.codegen.ir import kernel_ir as ir
from headrace.codegen.ir.kernel_ir import Array, Compute, Expr, Var, const, var
from headrace.codegen.ir.order import START, Moment
from headrace.codegen.ir.ranges import in_bounds
from headrace.codegen.ir.stages import Assembled, Called, Cell, Made, Row, Scatter, Stacked, ViewOf, memory
from headrace.codegen.ir.traverse import loads, rewrite, substitute, walk
from headrace.core.sizes import all_same, hint

_FUNCTIONS = (
    "exp expm1 log log1p sigmoid tanh pow sin cos tan asin acos atan atan2 sinh cosh asinh "
    "acosh atanh erf erfc lgamma truncmod"
)
_WEIGHTS = {
    **dict.fromkeys(("const", "var", "size", "load", "cast", "select", "not", "acc"), 0),
    **dict.fromkeys(("div", "sqrt", "rsqrt", "floordiv", "floormod", "truncdiv"), 4),
    **dict.fromkeys(_FUNCTIONS.split(), 10),
}
CHEAP = 3
RECOMPUTE, LARGE = 30, 1 << 20  # the cost of one element, and bytes
MAX_INLINE = 80  # expressions of a body that is put into another one


def dependencies(reader: Array) -> list[Array]:
    """The arrays that a stage reads."""
    match reader.source:
        case Compute(body=body):
            return [x.extra for x in loads(body)]
        case Scatter(into=into, place=place, value=value):
            return [into, *(x.extra for x in loads(*place, value))]
        case ViewOf(base=base):
            return [base]
        case Assembled(parts=parts):
            return [part for _, part in parts]
        case Called(inputs=inputs):
            return list(inputs)
        case Made(stage=stage):
            return list(stage.reads)
        case Cell(array=array, index=index, flags=flags, value=value):
            return [array, index, flags, *([] if value is None else [value])]
        case Row(array=array, flags=flags):
            return [array, flags]
        case Stacked(stack=stack, height=height, value=value):
            return [stack, height, *([] if value is None else [value])]
    return []


def collect(roots: Iterable[Array], first: Moment = START) -> list[Array]:
    """Every stage that the roots need, in the order in which they were made; but for those from
    before `first`."""
    seen: set[Array] = set()
    stack = list(roots)
    while stack:
        array = stack.pop()
        if array not in seen and array.moment >= first:
            seen.add(array)
            stack.extend(dependencies(array))
    return sorted((t for t in seen if t.source is not None), key=lambda t: t.moment)


def weight(body: Expr) -> int:
    """Rough cost of computing one element."""
    return sum(_WEIGHTS.get(x.op, 1) for x in walk(body) if x.kind is not ir.INDEX)


def has_reduction(body: Expr) -> bool:
    return any(x.op == "reduce" for x in walk(body))


def domain(array: Array, body: Expr | None = None) -> int:
    """How many times the innermost expression of a stage is evaluated."""
    source = array.source
    if isinstance(source, Scatter):
        return prod(v.extent for v in source.vars)
    largest = array.count
    if isinstance(source, Compute):
        for x in walk(body if body is not None else source.body):
            if x.op == "reduce":
                largest = max(largest, array.count * prod(v.extent for v in x.extra[1]))
    return largest


def reads_of(user: Array, array: Array) -> int:
    """At how many places one evaluation of a stage reads an array."""
    if not isinstance(user.source, Compute):
        return 1
    return max(sum(x.extra is array for x in loads(user.source.body)), 1)


class Inlining:
    """The decision for one program.  `bodies` has an entry for each Compute that stays."""

    def __init__(self, order: list[Array], required: set[Array]) -> None:
        self.order, self.required = order, set(required)
        self.users: dict[Array, list[Array]] = {}
        self.inlined: dict[Array, Compute] = {}
        self.bodies: dict[Array, Compute] = {}
        for array in order:
            for dep in dict.fromkeys(dependencies(array)):
                self.users.setdefault(dep, []).append(array)
        for array in order:
            self.require_inputs(array)
        for array in order:
            self.decide(array)

    def require_inputs(self, array: Array) -> None:
        """Library calls read memory; a view of what cannot be recomputed shows memory."""
        if isinstance(array.source, (Called, Made, Cell, Row, Stacked)):
            self.required.update(dependencies(array))

    def decide(self, array: Array) -> None:
        match array.source:
            case Compute() as source:
                self.settle(array, self.clean(source))
            case ViewOf(base=base):
                self.decide_view(array, base)

    def settle(self, array: Array, made: Compute) -> None:
        if array not in self.required and self.is_worth(array, made.body):
            self.inlined[array] = made
        else:
            self.bodies[array] = made

    def clean(self, source: Compute) -> Compute:
        """Without loops of one round, and with other stages put in."""
        ones = {v: const(0, ir.INDEX) for v in source.vars if v.extent == 1}
        body = substitute(source.body, ones) if ones else source.body
        return Compute(source.vars, self.expand(body))

    def expand(self, body: Expr) -> Expr:
        """The body with loads of inlined stages replaced by their bodies."""

        def change(old: Expr, args: tuple[Expr, ...]) -> Expr | None:
            if old.op != "load":
                return None
            made = self.inlined.get(old.extra)
            return None if made is None else element(made, args)

        return rewrite(body, change)

    def is_worth(self, array: Array, body: Expr) -> bool:
        """Whether readers compute the value again instead of reading it from memory: where that is
        hardly more work than the loads it saves.  A reader that is no loop (a call) needs it in
        memory."""
        if has_reduction(body) or len(walk(body)) > MAX_INLINE:
            return False
        cost, reads = weight(body), len(loads(body))
        if reads == 0 and cost < 10:
            return True
        # What is read along with a row or a column costs little.
        reads = sum(4 * hint(x.extra.count) > hint(array.count) for x in loads(body))
        users = self.users.get(array, [])
        count = hint(array.count)
        evaluations = sum(hint(domain(u)) * reads_of(u, array) for u in users)
        if any(not isinstance(u.source, (Compute, Scatter, ViewOf)) for u in users):
            return len(users) == 1 and isinstance(users[0].source, Assembled)
        if len(users) == 1:
            return evaluations <= count or (cost <= CHEAP and reads <= 1)
        if cost <= CHEAP and reads <= 1 and evaluations <= 8 * max(count, 1):
            return True
        return cost <= RECOMPUTE and evaluations <= 4 * count and self.is_far(array, body)

    def is_far(self, array: Array, body: Expr) -> bool:
        """Too large for a cache, and made from one array of its size: computing it again takes less
        time than memory does.  Not where a reduction reads it: a row of it then stays close."""
        if hint(array.nbytes) < LARGE:
            return False
        for user in self.users.get(array, ()):
            if not isinstance(user.source, Compute) or has_reduction(user.source.body):
                return False
        wide = {memory(x.extra) for x in loads(body) if 4 * x.extra.count > array.count}
        return len(wide) <= 1

    # -- reshapes ----------------------------------------------------------------------------
    def decide_view(self, array: Array, base: Array) -> None:
        made = self.inlined.get(base)
        pushed = None if made is None else reshaped(made, array.shape)
        if pushed is not None:
            array.source = pushed
            self.settle(array, self.clean(pushed))
        elif made is not None:  # its memory is needed after all
            del self.inlined[base]
            self.bodies[base] = made


def element(made: Compute, index: tuple[Expr, ...]) -> Expr:
    """The stage's element there.  Outside of its shape it is 0, as if the stage were stored, not what
    the body makes of the zeros that it reads there."""
    body = substitute(made.body, dict(zip(made.vars, index)))
    shape = [v.extent for v in made.vars]
    for i, n, is_inside in zip(index, shape, in_bounds(index, shape)):
        if not is_inside:
            body = ir.select((i >= 0) & (i < n), body, 0)
    return body


def reshaped(made: Compute, shape: tuple[int, ...]) -> Compute | None:
    """The stage under another shape: each array it reads element by element is reshaped instead."""
    loops = tuple(Var(n) for n in shape)
    index = tuple(map(var, loops))
    old = tuple(v.extent for v in made.vars)
    kept = [v for v in made.vars if v.extent != 1]
    fresh = [v for v in loops if v.extent != 1]
    if [v.extent for v in kept] == [v.extent for v in fresh]:
        return Compute(loops, substitute(made.body, {a: var(b) for a, b in zip(kept, fresh)}))
    own = tuple(var(v) if v.extent != 1 else const(0, ir.INDEX) for v in made.vars)
    if any(not _is_flat(x, own, old) for x in walk(made.body)):
        return None

    def change(x: Expr, args: tuple[Expr, ...]) -> Expr | None:
        if x.op == "load" and x.free:
            root = memory(x.extra)
            if root.shape == shape:
                return root[index]
            return Array(shape, root.dtype, value=root.value, source=ViewOf(root))[index]
        return None

    return Compute(loops, rewrite(made.body, change))


def _is_flat(x: Expr, own: tuple[Expr, ...], shape: tuple[int, ...]) -> bool:
    """Depends on the index only by reading arrays of the same shape at it."""
    if x.op == "load":
        same = all_same(x.extra.shape, shape) and len(x.args) == len(own)
        return not x.free or (same and all(a is b for a, b in zip(x.args, own)))
    if x.op == "var":
        return True  # seen below a load only, or the parent fails
    return x.op != "reduce" and not any(a.op == "var" for a in x.args)
