"""@op: one block declares an op, and everything else about it hangs on that block.

    @op("Softplus", "features: T -> activations: T", T=FLOATS, shape=same, traits={ELEMENTWISE})
    def softplus(features):
        '''log(1 + exp(features)), exact for large magnitudes.'''
        return np.logaddexp(features, 0)

    @softplus.gradient
    def _(node, dy): ...            # tensors in, tensors (or None) out: one per input
    @softplus.lower
    def _(e, x): ...                # the compiled rule, against ops.declaration.emit
    @softplus.samples
    def _(rng): yield Sample(...)   # what the generated tests run

The name then *is* the builder: `softplus(features, name=None)` adds a node and returns its tensor.  The body
is the meaning in NumPy: it gets arrays (a list of arrays for `N*T`), the attributes that it names as
keyword arguments, and, if its first parameter is `ctx`, the context of the step (ops.declaration.context).
It returns an array, or a tuple with one entry per output (a list for an output `N*T`).
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from headrace.core.modules import late
from headrace.ops.declaration.in_region import InRegion
from headrace.ops.declaration.signature import REQUIRED, Signature, parse
from headrace.ops.declaration.traits import Trait

build = late("headrace.ops.declaration.building.build")
catalog = late("headrace.ops.declaration.catalog")
op_def = late("headrace.ops.declaration.messages.op_def")

if TYPE_CHECKING:
    from headrace.graph.node import Node
    from headrace.graph.tensor import Tensor

    class Result(Tensor, Node):
        """What a builder gives, as a type checker sees it: a tensor, several (to be unpacked, or taken by
        name), or, where the op has no output, its node.  Which of these is said by the op's signature, a text
        in which no checker looks: so this is all of them."""

        def __iter__(self) -> Iterator[Tensor]: ...
        def __getattr__(self, name: str) -> Tensor: ...


REGISTRY: dict[str, Op] = {}
GRADIENTS: dict[str, Callable[..., Any] | None] = {}  # by op or by a user's name; None: no gradient


class Op:
    """A declared op: immutable but for the rules that its own block adds."""

    def __init__(
        self,
        name: str,
        signature: Signature,
        reference: Callable[..., Any] | None,
        shape: Callable[..., Any],
        traits: frozenset[Trait],
        deprecated: tuple[int, str] | None = None,
    ) -> None:
        self.name, self.signature, self.reference = name, signature, reference
        self.shape_rule, self.traits, self.deprecated = shape, traits, deprecated
        self.lower_rule: Callable[..., Any] | None = None
        self.library_rules: dict[str, Callable[..., Any]] = {}
        self.sample_rule: Callable[..., Any] | None = None
        self.handle_rule: Callable[..., Any] | None = None
        self.known_rule: Callable[..., Any] | None = None
        self.upper_rule: Callable[..., int | None] | None = None
        self.region_role: InRegion | None = None
        self.file_attr: tuple[str, Callable[[str], bool]] | None = None
        self.shape_wants = wanted(shape, signature)
        self.wants: tuple[str, ...] = ()
        self.wants_context = False
        if reference is not None:
            self.wants = wanted(reference, signature)
            self.wants_context = _first_parameter(reference) == "ctx"
            self.__doc__ = inspect.getdoc(reference)
            self.__module__ = reference.__module__

    # -- the rules of the block --------------------------------------------------------------
    def gradient(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        GRADIENTS[self.name] = rule
        return rule

    def no_gradient(self) -> None:
        """Say that gradients end here (TF's NotDifferentiable)."""
        GRADIENTS[self.name] = None

    def lower(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        self.lower_rule = rule
        return rule

    def library(self, name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def add(rule: Callable[..., Any]) -> Callable[..., Any]:
            self.library_rules[name] = rule
            return rule

        return add

    def samples(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        self.sample_rule = rule
        return rule

    def points_to(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """What the handle that the op gives leads to: a rule like a shape rule, for (type, shape)."""
        self.handle_rule = rule
        return rule

    def known(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """What of a scalar or vector of sizes is known while the graph is built: rule(node, known)
        gives an entry, or a tuple of entries, None for what is not; `known(tensor)` asks an input."""
        self.known_rule = rule
        return rule

    def upper(self, rule: Callable[..., int | None]) -> Callable[..., int | None]:
        """An upper bound of the output, a scalar integer: rule(bounds of the inputs, None where there is
        none) gives a number or None.  Of inputs that are known it is the output itself."""
        self.upper_rule = rule
        return rule

    def in_region(self, role: InRegion) -> None:
        """What the op does with an array or stack that lives inside of one compiled program."""
        self.region_role = role

    def touches_files(self, attr: str, is_file: Callable[[str], bool]) -> None:
        """The op has the trait FILES only where this attribute names a file."""
        self.file_attr = attr, is_file

    # -- use ---------------------------------------------------------------------------------
    def __call__(self, *args: Any, **kwargs: Any) -> Result:
        return self._apply(args, kwargs)

    def _apply(self, args: Any, kwargs: Any, called: str | None = None) -> Result:
        found: Result = build.apply(self, args, kwargs, called)
        return found

    def as_function(
        self, module: str, name: str, renamed: dict[str, str] | None = None
    ) -> Callable[..., Any]:
        """The builder as a function of Python: what a user gets under the public name module.name.

        A user's function has no rules of ours as attributes, and pickles by its name.  `renamed` has
        the arguments that are called otherwise: {name there: name in the OpDef}.
        """
        names = renamed or {}

        def build(*args: Any, **kwargs: Any) -> Any:
            if names:
                kwargs = {names.get(key, key): value for key, value in kwargs.items()}
            return self._apply(args, kwargs, name)

        build.__module__, build.__name__, build.__qualname__ = module, name, name
        build.__doc__ = self.__doc__
        shown = {theirs: ours for ours, theirs in names.items()}
        parameters = [
            p.replace(name=shown.get(p.name, p.name)) for p in self.__signature__.parameters.values()
        ]
        build.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return build

    def compute(self, arrays: Iterable[Any], attrs: Any, ctx: Any = None) -> Any:
        """The meaning, on arguments grouped as in the signature."""
        assert self.reference is not None, f"{self.name} has no kernel"
        chosen: dict[str, Any] = {name: attrs[name] for name in self.wants}
        if self.wants_context:
            return self.reference(ctx, *arrays, **chosen)
        return self.reference(*arrays, **chosen)

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """What a call takes, in order: inputs, attributes without and with a default, the name."""
        free = sorted(self.signature.free, key=lambda a: self._default(a) is not REQUIRED)
        return (*(arg.name for arg in self.signature.inputs), *free, "name")

    @cached_property
    def required(self) -> frozenset[str]:
        """The parameters without a default."""
        attrs = (name for name in self.signature.free if self._default(name) is REQUIRED)
        return frozenset((*(arg.name for arg in self.signature.inputs), *attrs))

    @property
    def __signature__(self) -> inspect.Signature:
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        defaults = {name: self._default(name) for name in self.signature.free} | {"name": None}
        given = [(name, defaults.get(name, REQUIRED)) for name in self.parameters]
        none = inspect.Parameter.empty
        return inspect.Signature(
            [inspect.Parameter(n, kind, default=none if d is REQUIRED else d) for n, d in given]
        )

    def _default(self, attr: str) -> Any:
        return self.signature.attrs[attr].default

    @property
    def is_stateful(self) -> bool:
        return Trait.STATEFUL in self.traits

    @cached_property
    def op_def(self) -> Any:
        return op_def.to_op_def(self)

    @property
    def __name__(self) -> str:
        """What TF calls the builder: mat_mul for MatMul."""
        return snake_case(self.name)

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def __reduce__(self) -> Any:
        """An op is copied and pickled by its name: there is one of each."""
        return catalog.find, (self.name,)


def snake_case(name: str) -> str:
    """mat_mul for MatMul, as TF's generated functions are called."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=.)(?=[A-Z][a-z])", "_", name).lower()


def op(
    name: str,
    signature: str,
    *,
    shape: Callable[..., Any],
    traits: Iterable[Trait] = (),
    deprecated: tuple[int, str] | None = None,
    attrs: dict[str, Any] | None = None,
    **more_attrs: Any,
) -> Callable[[Callable[..., Any] | None], Op]:
    """Declare an op.  `attrs` is for attributes whose names clash with an argument of ours."""

    def declare(reference: Callable[..., Any] | None) -> Op:
        return register(
            Op(
                name,
                parse(signature, more_attrs | (attrs or {})),
                reference,
                shape,
                frozenset(traits),
                deprecated,
            )
        )

    return declare


def primitive(name: str, signature: str, **options: Any) -> Op:
    """Declare an op without a kernel: the executor gives it meaning."""
    return op(name, signature, **options)(None)


def register(declared: Op) -> Op:
    if declared.name in REGISTRY:
        raise ValueError(f"op {declared.name} is declared twice")
    REGISTRY[declared.name] = declared
    return declared


def wanted(rule: Callable[..., Any], signature: Signature) -> tuple[str, ...]:
    """The attributes that a rule names as keyword arguments."""
    code = rule.__code__  # inspect.signature costs 20 us, times a thousand rules at import
    if code.co_flags & inspect.CO_VARKEYWORDS:
        return tuple(signature.attrs)
    first = code.co_argcount
    keywords = code.co_varnames[first : first + code.co_kwonlyargcount]
    return tuple(name for name in keywords if name in signature.attrs)


def _first_parameter(rule: Callable[..., Any]) -> str | None:
    code = rule.__code__
    return code.co_varnames[0] if code.co_argcount else None
