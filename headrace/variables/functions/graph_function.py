"""tf.function in a graph: a Python function is traced once per kind of argument, and called by a node.

The body's effects happen in the order of the program: nodes that touch one resource follow one
another, and the results wait for all of them.
"""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from headrace.core.dtypes import as_dtype
from headrace.core.fields import reads
from headrace.core.shapes import Shape
from headrace.functions.values import nest, nest_paths
from headrace.functions.values.tensor_spec import TensorSpec
from headrace.functions.values.type_spec import TypeSpec
from headrace.graph.defaults import get_default_graph
from headrace.graph.keys import GraphKeys
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.array.source import identity
from headrace.ops.control import function_call
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.declaration.traits import STATEFUL
from headrace.ops.graphdef import function_def
from headrace.ops.graphdef.function_graph import FunctionGraph
from headrace.ops.graphdef.function_library import Function
from headrace.variables import store
from headrace.variables.creators import creators


def function(
    func: Callable[..., Any] | None = None,
    input_signature: Any = None,
    autograph: bool = True,
    experimental_autograph_options: Any = None,
    experimental_relax_shapes: bool = False,
    experimental_compile: bool | None = None,
) -> Any:
    """Make a graph function from a Python function.

    Args:
      func: the function; without it, a decorator is returned.
      input_signature: TensorSpecs of the arguments: it is then traced once.
      autograph: accepted; Python's own `if` and `while` can not depend on tensors here.
      experimental_autograph_options: accepted.
      experimental_relax_shapes: trace once for shapes that differ.
      experimental_compile: accepted; everything is compiled.

    Example:
      >>> @tf.function
      ... def f(x, y):
      ...     return x * y + 1
    """
    if func is None:
        return functools.partial(
            function, input_signature=input_signature, experimental_relax_shapes=experimental_relax_shapes
        )
    return GraphFunction(func, input_signature, experimental_relax_shapes)


class GraphFunction:
    """What `function` returns: traces and remembers."""

    def __init__(
        self,
        python_function: Callable[..., Any],
        signature: Any,
        relax_shapes: bool = False,
        is_pruned: bool = False,
    ) -> None:
        functools.update_wrapper(self, python_function)
        self.python_function, self._relaxed = python_function, relax_shapes
        self._is_pruned = is_pruned
        self.input_signature = None if signature is None else tuple(signature)
        self._traces: dict[Any, ConcreteFunction] = {}
        self._makes_no_variables = False
        try:
            self._parameters: Any = inspect.signature(python_function)
        except (TypeError, ValueError):  # some built-in functions do not say
            self._parameters = None

    def __get__(self, instance: Any, owner: Any) -> Any:
        """A method: one set of traces per object."""
        if instance is None:
            return self
        name = f"_traced_{self.__name__}"  # type: ignore[attr-defined]
        bound = instance.__dict__.get(name)
        if bound is None:
            method = self.python_function.__get__(instance, owner)
            bound = GraphFunction(method, self.input_signature, self._relaxed)
            instance.__dict__[name] = bound
        return bound

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        structure, tensors = self._split(args, kwargs)
        return self._concrete(structure, tensors).call(tensors)

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """The function for arguments of these types: TensorSpecs or tensors."""
        if not args and not kwargs and self.input_signature is not None:
            args = self.input_signature
        structure, tensors = self._split(args, kwargs)
        return self._concrete(structure, tensors)

    def _split(self, args: Any, kwargs: Any) -> tuple[Any, list[Any]]:
        """Arguments as a structure with places for tensors, and the tensors."""
        args, kwargs = self._in_order(args, kwargs)
        if self.input_signature is not None and len(args) != len(self.input_signature):
            raise ValueError(
                f"Arguments and signature arguments do not match: {len(args)} arguments, "
                f"signature {self.input_signature}"
            )
        if self.input_signature is not None:
            args = tuple(
                nest_paths.map_structure_up_to(s, _as_specified, a, s)
                for a, s in zip(args, self.input_signature)
            )
        tensors: list[Any] = []

        def marked(item: Any) -> Any:
            spec = _composite_spec(item)
            parts = [item] if spec is None else nest.flatten(item, expand_composites=True)
            if not _is_value(parts[0]):
                return item
            first = len(tensors)
            tensors.extend(part if _is_spec(part) else convert_to_tensor(part) for part in parts)
            return Place(first, len(tensors), spec)

        return nest.map_structure(marked, (args, kwargs)), tensors

    def _in_order(self, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """However they are given, arguments stand where the function has them, with its defaults."""
        if self._parameters is None:
            return args, kwargs
        bound = self._parameters.bind(*args, **kwargs)
        if self.input_signature is None:
            bound.apply_defaults()
        return bound.args, bound.kwargs

    def _concrete(self, structure: Any, tensors: Sequence[Any]) -> ConcreteFunction:
        shapes = [Shape(None) if self._relaxed else t.shape for t in tensors]
        labels = [_argument_name(t, i) for i, t in enumerate(tensors)]
        if self.input_signature is not None:
            specs = nest.flatten(self.input_signature, expand_composites=True)
            shapes = [s.shape for s in specs]
            labels = _signature_names(self.python_function, self.input_signature)
        plain = tuple(x.spec if isinstance(x, Place) else x for x in nest.flatten(structure))
        types = tuple((as_dtype(t.dtype).base, s._sizes) for t, s in zip(tensors, shapes))
        key = (_outermost(), repr(nest.map_structure(type, structure)), _hashable(plain), types)
        found = self._traces.get(key)
        if found is None:
            found = self._trace(structure, tensors, shapes, labels)
            self._traces[key] = found
        return found

    def _trace(self, structure: Any, tensors: Any, shapes: Any, labels: Any) -> ConcreteFunction:
        """Variables are made the first time that the function is traced, in eager mode; then it is traced
        again."""
        made: list[str] = []

        def noting(next_creator: Any, **options: Any) -> Any:
            if self._makes_no_variables:
                raise ValueError(
                    "tf.function-decorated function tried to create variables on non-first call."
                )
            made.append("")
            return next_creator(**options)

        watching = noting if _outermost().runs_at_once else None
        arguments = self.python_function, structure, tensors, shapes, labels, self._is_pruned, watching
        found = ConcreteFunction(*arguments)
        self._makes_no_variables = True
        return ConcreteFunction(*arguments) if made else found


class Place:
    """Stands for a tensor in a structure of arguments; for several, if `spec` describes a value of them."""

    def __init__(self, first: int, end: int, spec: TypeSpec | None = None) -> None:
        self.first, self.end, self.spec = first, end, spec

    def filled(self, tensors: Sequence[Any]) -> Any:
        """The argument that consists of these tensors."""
        if self.spec is None:
            return tensors[self.first]
        return nest.pack_sequence_as(self.spec, tensors[self.first : self.end], expand_composites=True)


def _composite_spec(item: Any) -> TypeSpec | None:
    """What describes a value of several tensors, or such a description."""
    if isinstance(item, TypeSpec):
        return None if isinstance(item, TensorSpec) else item
    return item._type_spec if nest.is_composite(item) else None


def _is_spec(item: Any) -> bool:
    return hasattr(item, "is_compatible_with") and hasattr(item, "shape") and hasattr(item, "dtype")


def _is_value(item: Any) -> bool:
    if isinstance(item, (Tensor, np.ndarray)):
        return True
    return _is_spec(item) and not hasattr(item, "_as_graph_element")


def _as_specified(value: Any, spec: Any) -> Any:
    if _is_spec(value) and not isinstance(value, Tensor):
        return value
    tensor = convert_to_tensor(value, spec.dtype)
    if not spec.shape.is_compatible_with(tensor.shape):
        raise ValueError(
            f"Python inputs incompatible with input_signature: {tensor.shape} does not fit {spec}"
        )
    return tensor


def _hashable(values: Sequence[Any]) -> Any:
    return tuple(v if getattr(v, "__hash__", None) else repr(v) for v in values)


def _outermost() -> Any:
    graph: Any = get_default_graph()
    while isinstance(graph, FunctionGraph):
        graph = graph.outer_graph
    return graph


_numbers = itertools.count(1)


def _share_surroundings(graph: FunctionGraph) -> None:
    """The seed and the collections of the graph outside: those of variables are its own, of the others the
    function has copies."""
    outer = graph.outer_graph
    graph.seed = outer.seed
    for key in outer.get_all_collection_keys():
        if key not in GraphKeys._VARIABLE_COLLECTIONS and key != store._KEY:
            graph._collections[key] = outer.get_collection(key)
    for key in (*GraphKeys._VARIABLE_COLLECTIONS, store._KEY):
        graph._collections[key] = outer.get_collection_ref(key)


class ConcreteFunction:
    """One trace.  Calling it adds a node to the default graph."""

    def __init__(
        self,
        python_function: Callable[..., Any],
        structure: Any,
        tensors: Sequence[Any],
        shapes: Sequence[Shape],
        labels: Sequence[str],
        is_pruned: bool = False,
        on_variable: Any = None,
    ) -> None:
        name = getattr(python_function, "__name__", "function")
        # Numbered: two traces may differ in nothing but what is known of a variable's shape.
        self.graph = FunctionGraph(f"__inference_{name}_{next(_numbers)}")
        self.graph.is_traced, self.graph.is_pruned = True, is_pruned
        _share_surroundings(self.graph)
        creators(self.graph)[:] = [*creators(self.graph.outer_graph), *([on_variable] if on_variable else [])]
        with self.graph.as_default():
            places = [
                self.graph.add_argument(as_dtype(t.dtype).base, shape, label)
                for t, shape, label in zip(tensors, shapes, labels)
            ]
            for place, tensor in zip(places, tensors):
                place.handle_data = getattr(tensor, "handle_data", None)
            args, kwargs = nest.map_structure(
                lambda x: x.filled(places) if isinstance(x, Place) else x, structure
            )
            self._result = python_function(*args, **kwargs)
            last = [] if is_pruned else _ordered(self.graph.get_operations())
            with self.graph.control_dependencies(last):
                self.graph.outputs = [identity(self._own(x)) for x in self._flat_result()]
        definition = function_def.to_function_def(self.graph, self.graph.name, append_hash=False)
        self.function = Function(definition, self.graph)
        self.captured_inputs = self.graph.extra_inputs
        self.structured_input_signature = nest.map_structure(
            lambda x: x.spec or _spec_of(places[x.first]) if isinstance(x, Place) else x, structure
        )

    @property
    def structured_outputs(self) -> Any:
        """The result, with descriptions in place of tensors."""
        flat = nest.flatten(self._result, expand_composites=True)
        rest = iter([TensorSpec(t.shape, t.dtype) for t in self.graph.outputs])
        specs = [None if x is None or isinstance(x, Node) else next(rest) for x in flat]
        return nest.pack_sequence_as(self._result, specs, expand_composites=True)

    def _own(self, value: Any) -> Tensor:
        tensor = convert_to_tensor(value)
        return tensor if tensor.graph is self.graph else self.graph.capture(tensor)

    def _flat_result(self) -> list[Any]:
        flat = nest.flatten(self._result, expand_composites=True)
        return [x for x in flat if x is not None and not isinstance(x, Node)]

    name: str = reads("function.name")

    def add_to_graph(self, graph: Any) -> None:
        """Add the function to the library of a graph, for nodes that name it."""
        self.function.add_to_graph(graph)

    inputs: list[Tensor] = reads("graph.inputs")
    outputs: list[Tensor] = reads("graph.outputs")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """With tensors in the order of the arguments, or by the names of their places."""
        given = [convert_to_tensor(a) for a in nest.flatten(args, expand_composites=True)]
        names = [place.op.name for place in self.graph.inputs[len(given) :]]
        for name in kwargs:
            if name not in names:
                raise TypeError(f"Signature specifies arguments {names}, got an unexpected one {name!r}")
        by_name = [convert_to_tensor(kwargs[name]) for name in names if name in kwargs]
        return self.call([*given, *by_name])

    def call(self, tensors: Sequence[Any]) -> Any:
        graph = get_default_graph()
        self.function.add_to_graph(graph)
        call = (
            function_call.stateful_partitioned_call
            if self.function.definition.signature.is_stateful
            else function_call.partitioned_call
        )
        types = [t.dtype.base for t in self.graph.outputs]
        made: Any = call([*tensors, *self.captured_inputs], Tout=types, f=self.function)
        results = [] if made is None or isinstance(made, Node) else made
        for old, new in zip(self.graph.outputs, results):
            new.set_shape(old.shape)
            new.handle_data = old.handle_data
        rest = iter(results)
        flat = [
            None if x is None or isinstance(x, Node) else next(rest)
            for x in nest.flatten(self._result, expand_composites=True)
        ]
        return nest.pack_sequence_as(self._result, flat, expand_composites=True)


def _spec_of(place: Tensor) -> TensorSpec:
    return TensorSpec(place.shape, place.dtype, place.op.name)


def _signature_names(python_function: Callable[..., Any], signature: Sequence[Any]) -> list[str]:
    """Names of the arguments: those of the specs, else of the function's parameters."""
    try:
        parameters = list(inspect.signature(python_function).parameters)
    except (TypeError, ValueError):
        parameters = []
    parameters += [f"arg{i}" for i in range(len(parameters), len(signature))]
    found = []
    for parameter, spec in zip(parameters, signature):
        parts = nest.flatten(spec, expand_composites=True)
        for number, part in enumerate(parts):
            label = parameter if len(parts) == 1 else f"{parameter}_{number}"
            found.append(getattr(part, "name", None) or label)
    return found


def _argument_name(tensor: Any, number: int) -> str:
    if isinstance(tensor, Tensor):
        return tensor.op.name.rpartition("/")[2]
    return getattr(tensor, "name", None) or f"arg{number}"


def _ordered(nodes: Sequence[Node]) -> list[Node]:
    """Make nodes with effects follow one another; returns those that nothing follows."""
    last: dict[Any, Node] = {}
    for node in nodes:
        if STATEFUL not in node.declaration.traits or node._get_control_flow_context() is not None:
            continue
        handles: list[Any] = [t for t in node.inputs if t.dtype.base.kind == "r"] or [None]
        before = {last[h] for h in handles if h in last} - {node}
        node._add_control_inputs([n for n in before if n is not node])
        last.update(dict.fromkeys(handles, node))
    return list(dict.fromkeys(last.values()))


def wrap_function(fn: Callable[..., Any], signature: Any, name: str | None = None) -> Any:
    """A function of the graph from a Python function and the TensorSpecs of its arguments.

    Only what its results need runs, as in a graph.
    """
    return GraphFunction(fn, signature, is_pruned=True).get_concrete_function()
