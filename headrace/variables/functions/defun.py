"""`function.Defun`: a Python function becomes a function of the graph's library.

The body is built on first use, in a graph of its own: tensors from outside become extra arguments,
variables are made outside.  A call adds one node, whose op is the function.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from headrace.core import dtypes
from headrace.core.dtypes import DType, DTypeLike, as_dtype
from headrace.core.fields import reads
from headrace.core.shapes import UNKNOWN
from headrace.formats import proto
from headrace.graph.defaults import get_default_graph
from headrace.graph.graph import Graph
from headrace.graph.keys import GraphKeys
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.building.build import make_node
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.declaration.messages.op_def import fill, kind_of
from headrace.ops.declaration.traits import STATEFUL
from headrace.ops.graphdef import function_def
from headrace.ops.graphdef.function_graph import FunctionGraph
from headrace.ops.graphdef.function_library import Function
from headrace.ops.graphdef.import_export import check_edge
from headrace.variables import store
from headrace.variables.resource import ResourceVariable
from headrace.variables.scope import get_variable_scope, variable_scope


class Defun:
    """Decorator: makes a function of the graph's library from a Python function.

    Args:
      *input_types: types of the arguments; without them the function is made for the types of
        each call.
      func_name: its name in the library; otherwise it follows from the Python function and the body.
      grad_func: a function of the library that computes the gradient: (x..., dy...) -> dx...
      python_grad_func: a Python function (node, dy...) -> dx..., called by tf.gradients.
      out_names: names of the results.
      shape_func: a Python function from the call's node to the shapes of its results.
      noinline: run it as one node.
      capture_by_value: copy tensors from outside into the body, instead of passing them.

    Example:
      >>> @Defun(tf.float32, tf.float32)
      ... def f(x, y):
      ...     return x + y, x - y
      >>> a, b = f(1.0, 2.0)
    """

    def __init__(self, *input_types: Any, **kwargs: Any) -> None:
        self._input_types, self._options = input_types, kwargs

    def __call__(self, func: Callable[..., Any]) -> DefinedFunction | OverloadedFunction:
        if not callable(func):
            raise ValueError(f"function {func} must be callable")
        spec = inspect.getfullargspec(func)
        if spec.varkw or spec.defaults:
            raise ValueError(
                "function with argument defaults or keywords arguments are not supported. "
                f"{func} has defaults {spec.defaults} and keywords {spec.varkw}."
            )
        names = spec.args[1:] if inspect.ismethod(func) else spec.args
        least, most = len(names), 1_000_000 if spec.varargs else len(names)
        if self._input_types:
            if not least <= len(self._input_types) <= most:
                raise ValueError("The function has fewer arguments than the number of specified input types.")
            return DefinedFunction(func, names, self._input_types, **self._options)
        if most == 0:
            return DefinedFunction(func, [], (), **self._options)
        return OverloadedFunction(func, names, **self._options)


class DefinedFunction:
    """A function with known argument types.  Its body is built when somebody needs it."""

    def __init__(
        self,
        func: Callable[..., Any],
        argnames: Sequence[str],
        input_types: Sequence[Any],
        func_name: str | None = None,
        grad_func: Any = None,
        python_grad_func: Callable[..., Any] | None = None,
        out_names: Sequence[str] | None = None,
        shape_func: Callable[[Node], Any] | None = None,
        capture_by_value: bool = False,
        whitelisted_stateful_ops: Any = None,
        capture_resource_var_by_value: bool = True,
        **kwargs: Any,
    ) -> None:
        self._func, self._input_types = func, tuple(input_types)
        self._func_name, self._grad_func = func_name, grad_func
        self._python_grad_func, self._out_names = python_grad_func, out_names
        self._shape_func, self._capture_by_value = shape_func, capture_by_value
        self._stateful_allowed = whitelisted_stateful_ops or ()
        self._reads_resources = capture_resource_var_by_value
        self._extra_kwargs = kwargs
        self._names = [argnames[i] if i < len(argnames) else f"arg{i}" for i in range(len(input_types))]
        devices = get_default_graph()._stacks.devices
        self._device = devices[-1] if devices else None
        self._function: Function | None = None
        self._body: FunctionGraph | None = None

    # -- what it is --------------------------------------------------------------------------
    name: str = reads("function.name")
    definition: Any = reads("function.definition")
    _signature: Any = reads("function.definition.signature")

    @property
    def grad_func_name(self) -> str | None:
        return self._grad_func.name if self._grad_func else None

    python_grad_func: Callable[..., Any] | None = reads("_python_grad_func")
    declared_input_types: tuple[Any, ...] = reads("_input_types")

    @property
    def captured_inputs(self) -> list[Tensor]:
        return self._built().extra_inputs

    @property
    def stateful_ops(self) -> list[tuple[str, str]]:
        """(name, type) of the nodes of the body that have effects or hidden state."""
        nodes = self._built().get_operations()
        return [(n.name, n.type) for n in nodes if STATEFUL in n.declaration.traits]

    def set_grad_func(self, grad_func: DefinedFunction) -> None:
        assert not self._grad_func, "it has a gradient function already"
        self._grad_func = grad_func

    def _built(self) -> FunctionGraph:
        assert self.function is not None
        assert self._body is not None
        return self._body

    @property
    def function(self) -> Function:
        """The function of the library; building it calls the Python function."""
        if self._function is None:
            self._body = _body_of(self)
            base = self._func_name or _base_name(self._func, self._grad_func)
            definition = function_def.to_function_def(
                self._body, base, self._func_name is None, self._out_names or (), self._func.__doc__
            )
            for key, value in _call_attrs(base, self._extra_kwargs).items():
                fill(definition.attr[key], kind_of(value), value)
            self._function = Function(definition, self._body, self.grad_func_name, self._python_grad_func)
        return self._function

    # -- use ---------------------------------------------------------------------------------
    def add_to_graph(self, graph: Graph) -> None:
        """Add it, what it calls, and its gradient to the library of a graph."""
        function = self.function
        if self._grad_func is not None:
            if self._python_grad_func is not None:
                raise ValueError(f"Gradient defined twice for function {self.name}")
            function.gradient_name = self._grad_func.name
        function.add_to_graph(graph)
        if self._grad_func is not None:
            self._grad_func.add_to_graph(graph)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        graph = get_default_graph()
        self.add_to_graph(graph)
        tensors = [convert_to_tensor(a) for a in args] + self.captured_inputs
        wanted = self.function.op.signature.inputs
        if len(tensors) != len(wanted):
            raise ValueError(f"Expected number of arguments: {len(wanted)}, received: {len(tensors)}")
        name = kwargs.pop("name", None) or self.name
        types = [t for arg in wanted for t in arg.types({})]
        for i, (tensor, dtype) in enumerate(zip(tensors, types)):
            check_edge(name, i, dtype, tensor)
        attrs = _call_attrs(self.name, kwargs)
        node = make_node(graph, self.function.op, tensors, types, attrs, name)
        self._set_shapes(node)
        if not node.outputs:
            return node
        return node.outputs[0] if len(node.outputs) == 1 else tuple(node.outputs)

    def _set_shapes(self, node: Node) -> None:
        if self._shape_func is None:
            return
        shapes = self._shape_func(node)
        if len(shapes) != len(node.outputs):
            raise ValueError(f"shape_func produced {len(shapes)} shapes for {len(node.outputs)} outputs")
        for tensor, shape in zip(node.outputs, shapes):
            tensor.set_shape(shape)


def _base_name(func: Any, grad_func: Any) -> str:
    name = str(getattr(func, "__name__", type(func).__name__))
    name = "lambda" if name == "<lambda>" else name
    return f"{name}_{grad_func.name}" if grad_func else name


def _body_of(defined: DefinedFunction) -> FunctionGraph:
    """Call the Python function on placeholders, in a graph that shares the outer one's variables."""
    outer = get_default_graph()
    graph = FunctionGraph(
        defined._func_name or _base_name(defined._func, None),
        outer,
        defined._capture_by_value,
        defined._stateful_allowed,
    )
    for key in (*GraphKeys._VARIABLE_COLLECTIONS, store._KEY):
        graph._collections[key] = outer.get_collection_ref(key)
    getter = _Getter(graph, defined._reads_resources)
    with graph.as_default(), graph.device(defined._device):
        for name, dtype in zip(defined._names, defined._input_types):
            graph.add_argument(as_dtype(dtype).base, UNKNOWN, name)
        with variable_scope("", custom_getter=getter):
            outputs = defined._func(*graph.inputs)
        if outputs is None:
            outputs = ()
        elif not isinstance(outputs, (list, tuple)):
            outputs = (outputs,)
        if any(o is None for o in outputs):
            raise ValueError(f"Function {graph.name} can not return None.")
        tensors = [convert_to_tensor(o) for o in outputs]
        graph.outputs = [t if t.graph is graph else graph.capture(t) for t in tensors]
    return graph


class _Getter:
    """Variables that a body asks for are made outside, in the scope around the first call."""

    def __init__(self, graph: FunctionGraph, reads_resources: bool) -> None:
        self._graph, self._reads = graph, reads_resources
        self._scope = get_variable_scope()

    def __call__(
        self,
        getter: Any,
        name: str,
        shape: Any = None,
        dtype: DTypeLike | None = None,
        initializer: Callable[..., Any] | None = None,
        reuse: Any = None,
        trainable: bool = True,
        collections: Iterable[str] | None = None,
        use_resource: bool | None = None,
        **kwargs: Any,
    ) -> Any:
        with self._graph.outer_graph.as_default():
            variable = self._scope.get_variable(
                store.default_store(),
                name,
                shape=shape,
                dtype=dtype,
                initializer=initializer,
                reuse=reuse,
                trainable=trainable,
                collections=collections,
                use_resource=use_resource,
            )
            self._graph.extra_vars.append(variable)
            # The value goes in, not the handle: so the function is pure and has a gradient.
            if self._reads and isinstance(variable, ResourceVariable):
                return variable.value()
            return variable


class OverloadedFunction:
    """A function for any argument types: one DefinedFunction per combination."""

    def __init__(
        self,
        func: Callable[..., Any],
        argnames: Sequence[str],
        func_name: str | None = None,
        grad_func: Any = None,
        python_grad_func: Callable[..., Any] | None = None,
        out_names: Sequence[str] | None = None,
        **kwargs: Any,
    ) -> None:
        assert grad_func is None or isinstance(grad_func, OverloadedFunction)
        self._func, self._argnames, self._func_name = func, argnames, func_name
        self._grad_func, self._python_grad_func = grad_func, python_grad_func
        self._out_names, self._extra_kwargs = out_names, kwargs
        self._overload: dict[str, DefinedFunction] = {}

    def instantiate(self, input_types: Sequence[Any]) -> DefinedFunction:
        """The function for these argument types."""
        types = [as_dtype(t).base for t in input_types]
        if any(t not in _SHORT for t in types):
            raise ValueError(f"Unsupported dtypes: {types}")
        key = "".join(_SHORT[t] for t in types)
        defined = self._overload.get(key)
        if defined is None:
            name = None if self._func_name is None else f"{self._func_name}_{key}"
            defined = DefinedFunction(
                self._func,
                self._argnames,
                types,
                name,
                None,
                self._python_grad_func,
                self._out_names,
                **self._extra_kwargs,
            )
            results = [as_dtype(a.type) for a in defined._signature.output_arg]
            if self._grad_func is not None:
                defined.set_grad_func(self._grad_func.instantiate(types + results))
            self._overload[key] = defined
        return defined

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        tensors = [convert_to_tensor(a) for a in args]
        return self.instantiate([t.dtype for t in tensors])(*tensors, **kwargs)


_SHORT: dict[DType, str] = {
    dtypes.float16: "f16", dtypes.float32: "f32", dtypes.float64: "f64", dtypes.int32: "i32",
    dtypes.uint8: "i8", dtypes.uint16: "u16", dtypes.uint32: "u32", dtypes.uint64: "u64",
    dtypes.int16: "i16", dtypes.int8: "i8", dtypes.string: "s", dtypes.complex64: "c64",
    dtypes.complex128: "c128", dtypes.int64: "i64", dtypes.bool_: "b", dtypes.qint8: "qi8",
    dtypes.quint8: "qu8", dtypes.qint16: "qi16", dtypes.quint16: "qu16", dtypes.qint32: "qi32",
    dtypes.bfloat16: "b16",
}  # fmt: skip


def _call_attrs(func_name: str, options: dict[str, Any]) -> dict[str, Any]:
    """Keyword arguments of a definition or a call as attributes."""
    options = dict(options)
    attrs: dict[str, Any] = {}
    noinline = options.pop("noinline", None)
    if noinline is not None:
        attrs["_noinline"] = bool(noinline)
    attrs["_disable_call_shape_inference"] = True
    compiled = options.pop("compiled", None)
    separate = options.pop("separate_compiled_gradients", None)
    if compiled is not None:
        attrs["_XlaCompile"], attrs["_XlaSeparateCompiledGradients"] = (bool(compiled), bool(separate))
        scope = get_default_graph()._attr_scopes.get("_XlaScope")
        attrs["_XlaScope"] = scope if scope is not None else f"function_{func_name}"
    for key in list(options):
        value = options[key]
        text_only = key in ("_implements", "_reference")
        if not text_only and not key.startswith("experimental_"):
            continue
        if not isinstance(value, str if text_only else (bool, int, float, str)):
            raise ValueError(f"Unsupported attribute type for {key} with type {type(value)}")
        attrs[key] = options.pop(key)
    if options:
        raise ValueError(f"Unknown keyword arguments: {options.keys()}")
    return attrs


def from_definition(definition: Any, grad_func: Any = None) -> Function:
    """The function that a FunctionDef describes."""
    copy = proto.FunctionDef()
    copy.CopyFrom(definition)
    return Function(copy, None, grad_func.name if grad_func else None)


def get_extra_vars() -> list[Any]:
    """The variables that the body being built has asked for so far."""
    graph = get_default_graph()
    return graph.extra_vars if isinstance(graph, FunctionGraph) else []


def get_extra_inputs() -> list[Tensor]:
    """The tensors from outside that the body being built uses so far."""
    graph = get_default_graph()
    return graph.extra_inputs if isinstance(graph, FunctionGraph) else []


def get_extra_args() -> list[Tensor]:
    """The arguments that stand for `get_extra_inputs` inside."""
    graph = get_default_graph()
    return graph.extra_args if isinstance(graph, FunctionGraph) else []
