"""Both modes of differentiation, over one table of rules.

Backwards: a trace keeps what each primitive was given, and `backward_pass` walks it from its end.
Forwards: each
node carries its derivative along.  A primitive has one rule per argument, in either direction: what turns a
derivative of the result into one of the argument (`vjp`), or the other way (`jvp`).  The one that is not
given is made of the one that is, for each is linear in what it is given, and each the other's transpose.

Complex numbers: a derivative g of a real L by z is such that dL = Re(g dz).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any

from headrace.autograd.tracer import Box, Node, Primitive, getval, isbox, primitive, trace
from headrace.autograd.util import subval, toposort
from headrace.autograd.vector_space import VSpace, vspace

__all__ = ["Box", "Node", "VSpace", "getval", "isbox", "primitive", "trace", "vspace"]

primitive_vjps: dict[Primitive, Any] = {}
primitive_jvps: dict[Primitive, Any] = {}


class Rules:
    """Rules of one primitive by argument: `vjp(g, ans, *args, **kwargs)`, a derivative by that argument;
    None where the result does not depend on it in a way that has one."""

    def __init__(self, fun: Primitive, by_argument: Sequence[Any]) -> None:
        self.fun, self.by_argument = fun, tuple(by_argument)

    def of(self, argnum: int) -> Any:
        found = self.by_argument[argnum] if argnum < len(self.by_argument) else None
        if found is None:
            raise NotImplementedError(f"VJP of {self.fun.__name__} wrt argnum {argnum} not defined")
        return found

    def __call__(self, argnums: Sequence[int], ans: Any, args: Any, kwargs: Any) -> Callable[[Any], Any]:
        rules = [self.of(n) for n in argnums]
        return lambda g: tuple(rule(g, ans, *args, **kwargs) for rule in rules)


# -- backwards ------------------------------------------------------------------------------------


class VJPNode(Node):
    """What a primitive was given, until the way back."""

    maker: Rules | None
    ans: Any

    __slots__ = ("ans", "args", "argnums", "kwargs", "maker", "parents")

    def __init__(
        self,
        value: Any,
        fun: Primitive,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        parent_argnums: Sequence[int],
        parents: Sequence[Any],
    ) -> None:
        self.parents = parents
        maker = primitive_vjps.get(fun)
        if maker is None:
            maker = _transposed_jvp(fun, value, args, kwargs)
        if type(maker) is Rules:
            known = len(maker.by_argument)
            for n in parent_argnums:
                if n >= known or maker.by_argument[n] is None:
                    maker.of(n)
            self.ans, self.args, self.kwargs, self.argnums = value, args, kwargs, parent_argnums
            self.maker = maker
        else:  # a rule from outside may look at values that change later, so it is asked now
            self.ans = maker(parent_argnums, value, args, kwargs)
            self.maker = None

    def initialize_root(self) -> None:
        self.parents, self.maker, self.ans = [], None, _nothing

    def vjp(self, g: Any) -> Sequence[Any]:
        """Derivatives of the parents."""
        maker = self.maker
        if maker is None:
            return self.ans(g)  # type: ignore[no-any-return]
        rules, ans, args, kwargs = maker.by_argument, self.ans, self.args, self.kwargs
        return [rules[n](g, ans, *args, **kwargs) for n in self.argnums]


def _nothing(g: Any) -> tuple[()]:
    return ()


def make_vjp(fun: Callable[[Any], Any], x: Any) -> tuple[Callable[[Any], Any], Any]:
    """The derivative of fun at x, transposed, as a function; and fun(x)."""
    start = VJPNode.new_root()
    end_value, end_node = trace(start, fun, x)
    if end_node is None:
        return (lambda g: vspace(x).zeros()), end_value
    return (lambda g: backward_pass(g, end_node)), end_value


def backward_pass(g: Any, end_node: Any) -> Any:
    """From the derivative at the end to the one at the start."""
    outgrads: dict[Any, tuple[Any, bool]] = {end_node: (g, False)}
    outgrad: tuple[Any, bool] = (g, False)
    for node in toposort(end_node):
        outgrad = outgrads.pop(node)
        parents = node.parents
        if parents:
            for parent, ingrad in zip(parents, node.vjp(outgrad[0])):
                before = outgrads.get(parent)
                if before is None and type(ingrad) not in sparse_object_types:
                    outgrads[parent] = (ingrad, False)
                else:
                    outgrads[parent] = add_outgrads(before, ingrad)
    return outgrad[0]


def add_outgrads(prev_g_flagged: tuple[Any, bool] | None, g: Any) -> tuple[Any, bool]:
    """The sum so far and one more; the flag says that the sum is ours to write to."""
    sparse = type(g) in sparse_object_types
    if prev_g_flagged is None:
        return (sparse_add(None, g), True) if sparse else (g, False)
    prev_g, mutable = prev_g_flagged
    if sparse:
        if not mutable:
            prev_g = getval(vspace(prev_g)).mut_add(None, prev_g)
        return sparse_add(prev_g, g), True
    space = vspace(g)
    if mutable:
        return space.mut_add(prev_g, g), True
    return space.add(prev_g, g), True


def sum_outgrads(gs: Iterable[Any]) -> Any:
    total: Any = None
    for g in gs:
        total = add_outgrads(total, g)
    return total[0]


def defvjp_argnums(fun: Primitive, vjpmaker: Callable[..., Any]) -> None:
    """`vjpmaker(argnums, ans, args, kwargs)` gives what turns g into derivatives of these arguments."""
    primitive_vjps[fun] = vjpmaker


def defvjp_argnum(fun: Primitive, vjpmaker: Callable[..., Any]) -> None:
    """`vjpmaker(argnum, ans, args, kwargs)` gives what turns g into the derivative of this argument."""

    def makers(argnums: Sequence[int], ans: Any, args: Any, kwargs: Any) -> Callable[[Any], Any]:
        vjps = [vjpmaker(n, ans, args, kwargs) for n in argnums]
        return lambda g: tuple(vjp(g) for vjp in vjps)

    defvjp_argnums(fun, makers)


def defvjp(fun: Primitive, *vjpmakers: Any, **kwargs: Any) -> None:
    """One rule per argument: `vjpmaker(ans, *args, **kwargs)` gives a function of g; None is a derivative
    of zero.

    Args:
      argnums: the arguments that the rules are for; from 0 on if not given.
    """
    by_argument = dict(zip(kwargs.get("argnums", count()), vjpmakers))

    def makers(argnums: Sequence[int], ans: Any, args: Any, kwargs: Any) -> Callable[[Any], Any]:
        missing = [n for n in argnums if n not in by_argument]
        if missing:
            raise NotImplementedError(f"VJP of {fun.__name__} wrt argnum {missing[0]} not defined")
        vjps = [_made(by_argument[n], n, ans, args, kwargs) for n in argnums]
        return lambda g: tuple(vjp(g) for vjp in vjps)

    defvjp_argnums(fun, makers)


def _made(maker: Any, argnum: int, ans: Any, args: Any, kwargs: Any) -> Callable[[Any], Any]:
    if maker is None:
        return lambda g: vspace(args[argnum]).zeros()
    return maker(ans, *args, **kwargs)  # type: ignore[no-any-return]


def rules(fun: Primitive, *vjps: Any, jvps: Sequence[Any] = (), first: int = 0) -> None:
    """The rules of a primitive of ours: `vjp(g, ans, *args, **kwargs)` for each argument from `first` on;
    where derivatives are carried forward another way than by the transpose, `jvps`."""
    primitive_vjps[fun] = Rules(fun, (*[None] * first, *vjps))
    if jvps:
        defjvp(fun, *jvps, argnums=range(first, first + len(jvps)))


# -- forwards -------------------------------------------------------------------------------------


class JVPNode(Node):
    """Carries the derivative of its value along."""

    __slots__ = ("g", "parents")

    def __init__(
        self,
        value: Any,
        fun: Primitive,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        parent_argnums: Sequence[int],
        parents: Sequence[Any],
    ) -> None:
        self.parents: Sequence[Any] = ()
        jvp = primitive_jvps.get(fun) or _transposed_vjp(fun)
        self.g = jvp(parent_argnums, [p.g for p in parents], value, args, kwargs)

    def initialize_root(self, g: Any) -> None:
        self.parents, self.g = (), g


def make_jvp(fun: Callable[[Any], Any], x: Any) -> Callable[[Any], tuple[Any, Any]]:
    """The derivative of fun at x along a direction: a function from it to (fun(x), derivative)."""

    def jvp(g: Any) -> tuple[Any, Any]:
        end_value, end_node = trace(JVPNode.new_root(g), fun, x)
        if end_node is None:
            return end_value, vspace(end_value).zeros()
        return end_value, end_node.g

    return jvp


def defjvp_argnums(fun: Primitive, jvpmaker: Callable[..., Any]) -> None:
    """`jvpmaker(argnums, gs, ans, args, kwargs)` is the derivative of the result."""
    primitive_jvps[fun] = jvpmaker


def defjvp_argnum(fun: Primitive, jvpmaker: Callable[..., Any]) -> None:
    """`jvpmaker(argnum, g, ans, args, kwargs)` is what one argument adds to the derivative of the result."""

    def of_all(argnums: Sequence[int], gs: Sequence[Any], ans: Any, args: Any, kwargs: Any) -> Any:
        return sum_outgrads(jvpmaker(n, g, ans, args, kwargs) for n, g in zip(argnums, gs))

    defjvp_argnums(fun, of_all)


def defjvp(fun: Primitive, *jvpfuns: Any, **kwargs: Any) -> None:
    """One rule per argument: `jvp(g, ans, *args, **kwargs)`; None is zero, "same" says that fun is linear
    in it."""
    by_argument = dict(zip(kwargs.get("argnums", count()), jvpfuns))

    def of_one(argnum: int, g: Any, ans: Any, args: Any, kwargs: Any) -> Any:
        if argnum not in by_argument:
            raise NotImplementedError(f"JVP of {fun.__name__} wrt argnum {argnum} not defined")
        rule = by_argument[argnum]
        if rule is None:
            return vspace(ans).zeros()
        if isinstance(rule, str):
            return fun(*subval(args, argnum, g), **kwargs)
        return rule(g, ans, *args, **kwargs)

    defjvp_argnum(fun, of_one)


def def_linear(fun: Primitive) -> None:
    """The function is linear in each of its arguments."""
    defjvp_argnum(fun, lambda argnum, g, ans, args, kwargs: fun(*subval(args, argnum, g), **kwargs))


# -- each direction made of the other ----------------------------------------------------------------


def _transposed_vjp(fun: Primitive) -> Callable[..., Any]:
    maker = primitive_vjps.get(fun)
    if maker is None:
        raise NotImplementedError(f"JVP of {fun.__name__} wrt argnums not defined")

    def of_all(argnums: Sequence[int], gs: Sequence[Any], ans: Any, args: Any, kwargs: Any) -> Any:
        back = maker(argnums, ans, args, kwargs)
        zero = vspace(ans).zeros()

        def one(i: int) -> Callable[[Any], Any]:
            return lambda u: back(u)[i]

        return sum_outgrads(make_vjp(one(i), zero)[0](g) for i, g in enumerate(gs))

    return of_all


def _transposed_jvp(fun: Primitive, ans: Any, args: Any, kwargs: Any) -> Callable[..., Any]:
    maker = primitive_jvps.get(fun)
    if maker is None:
        raise NotImplementedError(f"VJP of {fun.__name__} wrt argnums not defined")

    def of_one(argnum: int, ans: Any, args: Any, kwargs: Any) -> Callable[[Any], Any]:
        zero = vspace(args[argnum]).zeros()
        return lambda g: make_vjp(lambda v: maker([argnum], [v], ans, args, kwargs), zero)[0](g)

    return lambda argnums, ans, args, kwargs: (
        lambda g: tuple(of_one(n, ans, args, kwargs)(g) for n in argnums)
    )


# -- derivatives that are zero almost everywhere -------------------------------------------------------


class SparseObject:
    """A derivative that is added to another in place: a space and how to add."""

    __slots__ = ("mut_add", "vs")

    def __init__(self, vs: Any, mut_add: Callable[[Any], Any]) -> None:
        self.vs, self.mut_add = vs, mut_add


class SparseBox(Box):
    __slots__ = ()


SparseBox.register(SparseObject)
sparse_object_types = {SparseObject, SparseBox}
VSpace.register(SparseObject, lambda x: x.vs)


@primitive
def sparse_add(x_prev: Any, x_new: Any) -> Any:
    """Add what is sparse to a sum that is ours, or to zero."""
    return x_new.mut_add(x_prev if x_prev is not None else x_new.vs.zeros())


def _identity_vjp(argnums: Sequence[int], *args: Any) -> Callable[[Any], Any]:
    return lambda g: (g,) * len(argnums)


defvjp_argnums(sparse_add, _identity_vjp)
defjvp_argnums(sparse_add, lambda argnums, gs, *rest: sum_outgrads(gs))

# -- operations of spaces --------------------------------------------------------------------------------

defvjp_argnums(VSpace.add, _identity_vjp)
defvjp_argnums(VSpace.mut_add, _identity_vjp)
rules(
    VSpace.inner_prod,
    lambda g, ans, vs, x, y: vs.covector(vs.scalar_mul(y, g)),
    lambda g, ans, vs, x, y: vs.covector(vs.scalar_mul(x, g)),
    first=1,
)
rules(VSpace.covector, lambda g, ans, vs, x: vs.covector(g), first=1)
rules(
    VSpace.scalar_mul,
    lambda g, ans, vs, x, a: vs.covector(vs.scalar_mul(vs.covector(g), a)),
    lambda g, ans, vs, x, a: vs.inner_prod(g, vs.covector(x)),
    first=1,
)
defjvp_argnums(VSpace.add, lambda argnums, gs, *rest: sum_outgrads(gs))
defjvp_argnums(VSpace.mut_add, lambda argnums, gs, *rest: sum_outgrads(gs))
for _linear in (VSpace.inner_prod, VSpace.covector, VSpace.scalar_mul):
    def_linear(_linear)

# -- older spellings of rules: methods of the primitive ----------------------------------------------------


def warn_of_old(name: str, now: str) -> None:
    warnings.warn(f"{name} is deprecated; use {now}", stacklevel=3)


class _OldRules:
    """`fun.defvjp(vjp, argnum)` and its kin."""

    def __init__(self, fun: Any) -> None:
        self.fun, self.makers = fun, {}  # type: ignore[var-annotated]

    def _define(self, argnum: int, maker: Any) -> None:
        self.makers[argnum] = maker
        defvjp(self.fun, *self.makers.values(), argnums=list(self.makers))

    def defvjp(self, vjpfun: Callable[..., Any], argnum: int = 0) -> None:
        warn_of_old("fun.defvjp", "autograd.extend.defvjp")

        def maker(ans: Any, *args: Any, **kwargs: Any) -> Callable[[Any], Any]:
            spaces = vspace(args[argnum]), vspace(ans)
            return lambda g: vjpfun(g, ans, *spaces, *args, **kwargs)

        self._define(argnum, maker)

    def defvjp_is_zero(self, argnums: Sequence[int] = (0,)) -> None:
        warn_of_old("fun.defvjp_is_zero", "autograd.extend.defvjp")
        for argnum in argnums:
            self._define(argnum, None)

    def defgrad(self, gradfun: Callable[..., Any], argnum: int = 0) -> None:
        warn_of_old("fun.defgrad", "autograd.extend.defvjp")
        self._define(argnum, gradfun)


_primitive = primitive


def primitive(f_raw: Callable[..., Any]) -> Primitive:  # type: ignore[no-redef]
    """`tracer.primitive`, with the older methods for rules."""
    made: Any = _primitive(f_raw)
    old = _OldRules(made)
    made.defvjp, made.defvjp_is_zero, made.defgrad = old.defvjp, old.defvjp_is_zero, old.defgrad
    return made  # type: ignore[no-any-return]
