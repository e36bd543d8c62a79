"""tf.saved_model.load_v2: the objects, variables and functions of a SavedModel that was made of objects."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from headrace.core.dtypes import as_dtype
from headrace.core.errors import InvalidArgumentError
from headrace.core.fields import reads
from headrace.core.shapes import as_shape
from headrace.formats import proto
from headrace.formats.tensor_proto import from_proto
from headrace.functions.values import nest, nest_paths
from headrace.functions.values.tensor_spec import TensorSpec
from headrace.graph.defaults import get_default_graph
from headrace.graph.node import Node
from headrace.ops.array.constant import const, constant
from headrace.ops.control import function_call
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.graphdef.function_library import Function
from headrace.ops.graphdef.importer import drop_producer_defaults
from headrace.ops.io import checkpoint
from headrace.train.checkpoints.object_graph import AutoTrackable
from headrace.train.checkpoints.object_names import object_graph_of
from headrace.train.saved_model import assets, places
from headrace.train.saved_model.loader import SavedModelLoader, parse_saved_model
from headrace.train.saved_model.structure_coder import decode
from headrace.variables.resource import ResourceVariable

_numbers = itertools.count(1)


class Restored(AutoTrackable):
    """An object of a loaded model: its attributes are what it had."""


class Concrete:
    """A function of a loaded model, for arguments of certain types."""

    def __init__(
        self,
        function: Function,
        library: dict[str, Function],
        captured: Sequence[Any],
        signature: Any,
        outputs: Any,
    ) -> None:
        self.function, self.captured_inputs = function, list(captured)
        self.structured_input_signature, self.structured_outputs = signature, outputs
        self._library = library

    name: str = reads("function.name")

    def add_to_graph(self, graph: Any) -> None:
        """Add the function, and those of its model that it may call, to the library of a graph."""
        for other in _needed(self.function, self._library):
            other.add_to_graph(graph)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function of tensors, in order, or by the names of the signature."""
        specs, more = self.structured_input_signature
        flat = nest.flatten((specs, more))
        if args or not kwargs:
            values = nest.flatten(args)
        else:
            values = [kwargs[s.name] for s in flat]
        return self.call([convert_to_tensor(v, s.dtype) for v, s in zip(values, flat)])

    def call(self, tensors: Sequence[Any]) -> Any:
        self.add_to_graph(get_default_graph())
        stateful = self.function.definition.signature.is_stateful
        call = function_call.stateful_partitioned_call if stateful else function_call.partitioned_call
        flat = nest.flatten(self.structured_outputs, expand_composites=True)
        specs = [s for s in flat if s is not None]
        made: Any = call([*tensors, *self.captured_inputs], Tout=[s.dtype for s in specs], f=self.function)
        results = [] if isinstance(made, Node) else made
        for result, spec in zip(results, specs):
            result.set_shape(spec.shape)
        rest = iter(results)
        values = [None if s is None else next(rest) for s in flat]
        return nest.pack_sequence_as(self.structured_outputs, values, expand_composites=True)


class RestoredFunction:
    """A function of a loaded model: chooses by its arguments what to call."""

    def __init__(self, concretes: Sequence[Concrete], arguments: Any, signature: Any) -> None:
        self.concretes, self.arguments, self.input_signature = concretes, arguments, signature

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = self._in_order(args, kwargs)
        for one in self.concretes:
            tensors = _fitting(one.structured_input_signature, (args, kwargs))
            if tensors is not None:
                return one.call(tensors)
        options = "\n".join(f"  {c.structured_input_signature}" for c in self.concretes)
        raise ValueError(
            f"Could not find matching function to call loaded from the SavedModel. Got:\n  {args}, "
            f"{kwargs}\nExpected these arguments to match one of the following "
            f"{len(self.concretes)} option(s):\n{options}"
        )

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> Concrete:
        """The function for arguments of these types."""
        if not args and not kwargs and len(self.concretes) == 1:
            return self.concretes[0]
        args, kwargs = self._in_order(args, kwargs)
        for one in self.concretes:
            if _fitting(one.structured_input_signature, (args, kwargs), called=False) is not None:
                return one
        raise ValueError(f"no function of the SavedModel takes {args}, {kwargs}")

    def _in_order(self, args: Any, kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments by name go to their places; defaults fill the rest."""
        listed = list(self.arguments.args)
        given = dict(zip(listed, args)) | {k: v for k, v in kwargs.items() if k in listed}
        rest = {k: v for k, v in kwargs.items() if k not in listed}
        defaults = self.arguments.defaults or ()
        for name, value in zip(reversed(listed), reversed(defaults)):
            given.setdefault(name, value)
        if len(args) > len(listed) or len(given) < len(listed):
            return tuple(args), dict(kwargs)
        return tuple(given[name] for name in listed), rest


def _fitting(wanted: Any, given: Any, called: bool = True) -> list[Any] | None:
    """The tensors of arguments that have the wanted structure and types, else None."""
    try:
        values = nest_paths.flatten_up_to(wanted, given, check_types=False)
    except (TypeError, ValueError):
        return None
    tensors = []
    for spec, value in zip(nest.flatten(wanted), values):
        if isinstance(spec, TensorSpec):
            tensor = _as_tensor(spec, value, called)
            if tensor is None:
                return None
            tensors.append(tensor)
        elif isinstance(value, TensorSpec) or not _equal(spec, value):
            return None
    return tensors


def _as_tensor(spec: TensorSpec, value: Any, called: bool) -> Any:
    if not called and isinstance(value, TensorSpec):
        return value if spec.is_compatible_with(value) else None
    try:
        tensor = convert_to_tensor(value, spec.dtype)
    except (TypeError, ValueError):
        return None
    return tensor if spec.shape.is_compatible_with(tensor.shape) else None


def _equal(a: Any, b: Any) -> bool:
    same = a == b
    return bool(same.all()) if isinstance(same, np.ndarray) else bool(same)


# -- loading -------------------------------------------------------------------------------------
def load(export_dir: Any, tags: Any = None) -> Any:
    """The object of a SavedModel that `tf.saved_model.save` made.

    Args:
      export_dir: the folder.
      tags: the tags of its graph, if it has several.

    Returns:
      An object with the attributes of the one that was saved.  Its variables get their values when
      they are initialised; functions without variables can be used at once.

    Raises:
      ValueError: the model was not made of objects, or has several graphs.
    """
    if isinstance(tags, str):
        tags = [tags]
    message = parse_saved_model(export_dir)
    graphs = list(message.meta_graphs)
    if len(graphs) != 1 or not graphs[0].HasField("object_graph_def"):
        raise ValueError(
            f"{export_dir} holds graphs of TF1, not one object; tf.saved_model.load(session, tags, "
            "folder) reads them."
        )
    if tags is not None:
        SavedModelLoader(export_dir).get_meta_graph_def_from_tags(tags)
    return _Loading(export_dir, graphs[0]).objects[0]


class _Loading:
    """Makes the objects of a model, those first that others need."""

    def __init__(self, export_dir: Any, meta_graph: Any) -> None:
        self.message, self.export_dir = meta_graph.object_graph_def, export_dir
        self.constants = {n.name: n for n in meta_graph.graph_def.node if n.op == const.name}
        self.assets = list(assets.found(export_dir, meta_graph).values())
        self.library = _renamed_library(meta_graph)
        self.keys = self._variable_keys()
        self.objects: list[Any] = [None] * len(self.message.nodes)
        for number, node in enumerate(self.message.nodes):
            if node.WhichOneof("kind") not in ("function", "bare_concrete_function"):
                self.objects[number] = self._made(number, node)
        self.concretes = {
            name: self._concrete(self.library[name], entry)
            for name, entry in self.message.concrete_functions.items()
            if name in self.library
        }
        for number, node in enumerate(self.message.nodes):
            if self.objects[number] is None:
                self.objects[number] = self._function(node)
        for value, node in zip(self.objects, self.message.nodes):
            for child in node.children:
                self._attach(value, child.local_name, self.objects[child.node_id])

    def _attach(self, owner: Any, name: str, value: Any) -> None:
        if isinstance(owner, dict):
            owner[name] = value
        elif isinstance(owner, list):
            owner.append(value)
        elif isinstance(owner, Restored):
            if name == "__call__":
                owner.__class__ = _callable_class()
            setattr(owner, name, value)

    def _made(self, number: int, node: Any) -> Any:
        match node.WhichOneof("kind"):
            case "variable":
                return self._variable(number, node.variable)
            case "constant":
                return self._constant(node.constant.operation)
            case "asset":
                return constant(self.assets[node.asset.asset_file_def_index])
            case "user_object":
                kind = node.user_object.identifier
                return {"trackable_list_wrapper": [], "trackable_dict_wrapper": {}, "signature_map": {}}.get(
                    kind, Restored()
                )
            case _:
                return Restored()

    def _constant(self, name: str) -> Any:
        attr = self.constants[name].attr
        value = from_proto(attr["value"].tensor)
        return constant(value, dtype=as_dtype(attr["dtype"].type))

    def _variable_keys(self) -> dict[int, str]:
        """The key in the checkpoint of every variable, found by walking both graphs side by side."""
        if not any(n.WhichOneof("kind") == "variable" for n in self.message.nodes):
            return {}
        stored = object_graph_of(places.variables_path(self.export_dir)).nodes
        keys: dict[int, str] = {}
        seen: set[int] = set()
        waiting = [(0, 0)]
        while waiting:
            mine, theirs = waiting.pop()
            if mine in seen:
                continue
            seen.add(mine)
            for attribute in stored[theirs].attributes:
                keys[mine] = attribute.checkpoint_key
            others = {c.local_name: c.node_id for c in stored[theirs].children}
            for child in self.message.nodes[mine].children:
                if child.local_name in others:
                    waiting.append((child.node_id, others[child.local_name]))
        return keys

    def _variable(self, number: int, saved: Any) -> Any:
        dtype, shape = as_dtype(saved.dtype), as_shape(saved.shape)
        path, key = places.variables_path(self.export_dir), self.keys.get(number)
        if key is None:
            raise InvalidArgumentError(
                None, None, f"the checkpoint of {self.export_dir} lacks variable {saved.name!r}"
            )

        def value() -> Any:
            restored = checkpoint.restore_v2(path, [key], [""], [dtype])[0]
            restored.set_shape(shape)
            return restored

        return ResourceVariable(value, dtype=dtype, trainable=saved.trainable, name=saved.name or "Variable")

    def _concrete(self, function: Function, entry: Any) -> Concrete:
        captured = []
        for number in entry.bound_inputs:
            bound = self.objects[number]
            captured.append(getattr(bound, "handle", bound))
        signature = decode(entry.canonicalized_input_signature)
        outputs = decode(entry.output_signature)
        return Concrete(function, self.library, captured, signature, outputs)

    def _function(self, node: Any) -> Any:
        if node.WhichOneof("kind") == "bare_concrete_function":
            return self.concretes[node.bare_concrete_function.concrete_function_name]
        saved = node.function
        found = [self.concretes[n] for n in saved.concrete_functions if n in self.concretes]
        arguments = decode(saved.function_spec.fullargspec)
        if saved.function_spec.is_method and arguments.args[:1] == ["self"]:
            arguments = arguments._replace(args=arguments.args[1:])
        signature = decode(saved.function_spec.input_signature)
        return RestoredFunction(found, arguments, signature)


def _callable_class() -> type[Restored]:
    class CallableRestored(Restored):
        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return vars(self)["__call__"](*args, **kwargs)

    return CallableRestored


def _renamed_library(meta_graph: Any) -> dict[str, Function]:
    """The functions of a model under names that no other model uses, by their old names."""
    graph_def = proto.GraphDef()
    graph_def.CopyFrom(meta_graph.graph_def)
    if meta_graph.meta_info_def.HasField("stripped_op_list"):
        drop_producer_defaults(graph_def, meta_graph.meta_info_def.stripped_op_list)
    number = next(_numbers)
    new = {f.signature.name: f"{f.signature.name}_loaded_{number}" for f in graph_def.library.function}
    library: dict[str, Function] = {}
    found = {}
    for definition in graph_def.library.function:
        old = definition.signature.name
        definition.signature.name = new[old]
        for node in definition.node_def:
            node.op = new.get(node.op, node.op)
            for reference in _function_names(node):
                reference.name = new.get(reference.name, reference.name)
        # The definition's own attributes may name its gradient; they stay as they are.
        found[old] = library[new[old]] = Function(definition, library=library)
    return found


def _function_names(node: Any) -> Iterator[Any]:
    for value in node.attr.values():
        if value.HasField("func"):
            yield value.func
        yield from value.list.func


def _needed(function: Function, by_old_name: dict[str, Function]) -> list[Function]:
    """A function and all that it calls."""
    known = {f.name: f for f in by_old_name.values()}
    found: dict[str, Function] = {}
    waiting = [function.name]
    while waiting:
        name = waiting.pop()
        if name in found or name not in known:
            continue
        found[name] = known[name]
        for node in known[name].definition.node_def:
            waiting.append(node.op)
            waiting += [reference.name for reference in _function_names(node)]
    return list(found.values())
