"""tf.saved_model.save: an object, with its variables and functions, becomes a SavedModel.

Every object, function and captured constant is a node of the model's object graph; functions lie in the
library of its graph; variables in a checkpoint of objects.
"""

from __future__ import annotations

import inspect
from collections import namedtuple
from collections.abc import Mapping
from typing import Any

import numpy as np

from headrace.core import log
from headrace.core.dtypes import float32
from headrace.core.errors import FailedPreconditionError
from headrace.formats import durable, files, proto
from headrace.formats.checkpoints.bundle_writer import BundleWriter
from headrace.functions.control.grouping import group
from headrace.functions.platform.scopes import control_dependencies
from headrace.functions.values import nest
from headrace.graph.defaults import get_default_session
from headrace.graph.graph import Graph
from headrace.ops.array import source
from headrace.ops.array.constant import constant
from headrace.ops.control import function_call
from headrace.ops.declaration.text import strings
from headrace.ops.declaration.traits import CONSTANT
from headrace.ops.io import checkpoint
from headrace.ops.state import state
from headrace.train.checkpoints.object_graph import VALUE, ObjectGraph, full_name, is_trackable
from headrace.train.checkpoints.object_names import GRAPH_KEY
from headrace.train.lookup.interface import InitializableLookupTableBase
from headrace.train.meta_graph.meta_graph_export import export_scoped_meta_graph
from headrace.train.saved_model import assets, places
from headrace.train.saved_model import saved_model_names as names
from headrace.train.saved_model.restored import Concrete, RestoredFunction
from headrace.train.saved_model.saved_tables import SavedTables
from headrace.train.saved_model.signatures import build_signature_def, build_tensor_info
from headrace.train.saved_model.structure_coder import NotEncodable, encode
from headrace.variables.functions.graph_function import ConcreteFunction, GraphFunction
from headrace.variables.variable import Variable

FullArgSpec = namedtuple("FullArgSpec", "args varargs varkw defaults kwonlyargs kwonlydefaults annotations")
_FUNCTIONS = (GraphFunction, RestoredFunction, ConcreteFunction, Concrete)


def save(obj: Any, export_dir: Any, signatures: Any = None) -> None:
    """Write an object as a SavedModel.

    Args:
      obj: a `tf.Module`, or another object that checkpoints know.
      export_dir: the folder.
      signatures: what a server may call: a function with an input signature, or a dict of them.

    Raises:
      ValueError: `obj` is of no such kind.
      AssertionError: a function uses a variable that does not belong to the object.
    """
    if not is_trackable(obj):
        raise ValueError(f"Expected a Trackable object for export, got {obj}.")
    model = _Model(obj, _named(signatures))
    files.makedirs(export_dir)
    places.made(places.variables_folder(export_dir))
    model.write_variables(places.variables_path(export_dir))
    assets.copy(model.tables.sources, export_dir)
    message = proto.SavedModel(saved_model_schema_version=names.SAVED_MODEL_SCHEMA_VERSION)
    message.meta_graphs.add().CopyFrom(model.meta_graph())
    path = places.binary_path(export_dir)
    durable.write(path, message.SerializeToString())
    log.info("SavedModel written to: %s", path)


def _named(signatures: Any) -> dict[str, Any]:
    """Concrete functions by the names of their signatures."""
    if signatures is None:
        return {}
    if not isinstance(signatures, Mapping):
        signatures = {names.DEFAULT_SERVING_SIGNATURE_DEF_KEY: signatures}
    found = {}
    for key, function in signatures.items():
        if isinstance(function, GraphFunction):
            if function.input_signature is None:
                raise ValueError(
                    "Unable to use the function as a signature directly. Functions used to generate "
                    "serving signatures must either have an `input_signature=` or be converted to "
                    "concrete functions using `function.get_concrete_function(...)`."
                )
            function = function.get_concrete_function()
        elif isinstance(function, RestoredFunction):
            function = function.concretes[0]
        elif not isinstance(function, (ConcreteFunction, Concrete)):
            raise ValueError(
                f"Expected a TensorFlow function to generate a signature for, but got {function}; a "
                "concrete function will do, or a `tf.function` with an input signature."
            )
        found[key] = _signature_function(function)
    return found


def _signature_function(one: Any) -> ConcreteFunction:
    """The same function with arguments by name and a dict of results."""
    args, kwargs = one.structured_input_signature
    specs = {s.name or f"args_{i}": s for i, s in enumerate(args)} | dict(kwargs)
    in_order = nest.flatten((args, kwargs), expand_composites=True)
    if len(specs) != len(in_order):
        raise ValueError(f"arguments of a signature must be tensors, but they are {args}, {kwargs}")

    def signature_wrapper(**given: Any) -> dict[str, Any]:
        results = one.call([given[name] for name in specs])
        if isinstance(results, Mapping):
            return dict(results)
        results = results if isinstance(results, (list, tuple)) else [results]
        return {f"output_{i}": tensor for i, tensor in enumerate(results)}

    return GraphFunction(signature_wrapper, None).get_concrete_function(**specs)


class _Model:
    """The parts of the model, and the graph that they are exported to."""

    def __init__(self, root: Any, signatures: dict[str, Any]) -> None:
        self.objects = ObjectGraph(root)
        self.signatures = signatures
        self.variables: list[Any] = [v for v in self.objects.objects if isinstance(v, Variable)]
        self.message = proto.SavedObjectGraph()
        self.graph = Graph()
        self.handles: dict[int, Any] = {}  # id of a variable's handle -> ours
        self.ids: dict[int, int] = {}  # id of a captured tensor -> node of the object graph
        self.tables = SavedTables(self.message)
        with self.graph.as_default():
            self._add_objects()
            self._add_functions()
            self._add_tables()
            self.signature_defs = {
                key: self._signature(key, function) for key, function in signatures.items()
            }
            self.saver_def = self._saver()

    # -- objects -------------------------------------------------------------------------------
    def _add_objects(self) -> None:
        for number, value in enumerate(self.objects.to_proto().nodes):
            node = self.message.nodes.add()
            node.children.extend(value.children)
            item = self.objects.objects[number]
            if isinstance(item, Variable):
                self._add_variable(node, number, item)
            elif isinstance(item, InitializableLookupTableBase):
                node.resource.SetInParent()
                old = item.resource_handle
                self.handles[id(old)], self.ids[id(old)] = self.tables.add(number, item), number
            else:
                _describe(node, "_generic_user_object")

    def _add_variable(self, node: Any, number: int, variable: Any) -> None:
        dtype = variable.dtype.base_dtype
        node.variable.dtype = dtype.as_datatype_enum
        node.variable.shape.CopyFrom(variable.shape.as_proto())
        node.variable.trainable = bool(getattr(variable, "trainable", True))
        node.variable.name = full_name(variable)
        handle = state.var_handle(
            dtype=dtype, shape=variable.shape, shared_name=full_name(variable), name=full_name(variable)
        )
        old = getattr(variable, "handle", None)
        if old is not None:
            self.handles[id(old)], self.ids[id(old)] = handle, number

    # -- functions -----------------------------------------------------------------------------
    def _add_functions(self) -> None:
        for old, copy, number in self.tables.assets():
            self.handles[id(old)], self.ids[id(old)] = copy, number
        for number, item in enumerate(list(self.objects.objects)):
            for name, function in _functions_of(item):
                child = self._function_node(function)
                if child is not None:
                    self.message.nodes[number].children.add(node_id=child, local_name=name)
        if self.signatures:
            self._add_signatures()

    def _add_signatures(self) -> None:
        """The attribute `signatures` of the root."""
        number = len(self.message.nodes)
        self.message.nodes[0].children.add(node_id=number, local_name="signatures")
        signature_map = self.message.nodes.add()
        _describe(signature_map, "signature_map")
        for key, one in sorted(self.signatures.items()):
            name = self._concrete(one)
            child = len(self.message.nodes)
            node = self.message.nodes.add().bare_concrete_function
            node.concrete_function_name = name
            node.argument_keywords.extend(sorted(one.structured_input_signature[1]))
            self.message.nodes[number].children.add(node_id=child, local_name=key)

    def _add_tables(self) -> None:
        """The functions that make and fill tables, and a node that fills them all: loaders run these."""
        filled: list[Any] = []
        for number, name, function in self.tables.functions():
            child = self._function_node(function)
            assert child is not None
            self.message.nodes[number].children.add(node_id=child, local_name=name)
            (one,) = _concretes(function)
            if name == SavedTables.FILL:
                bound = [self._captured(t)[1] for t in one.captured_inputs]
                filled += function_call.stateful_partitioned_call(bound, Tout=[float32], f=one.function)
        if filled:
            self.graph.add_to_collection(names.MAIN_OP_KEY, group(*filled, name="init_tables"))

    def _function_node(self, function: Any) -> int | None:
        concretes = _concretes(function)
        if not concretes:
            return None
        found = [name for one in concretes if (name := self._concrete(one)) is not None]
        number = len(self.message.nodes)
        node = self.message.nodes.add()
        node.function.concrete_functions.extend(found)
        specification = node.function.function_spec
        specification.fullargspec.CopyFrom(encode(_arguments(function)))
        specification.is_method = False
        specification.input_signature.CopyFrom(encode(getattr(function, "input_signature", None)))
        return number

    def _concrete(self, one: Any) -> str | None:
        """Add a concrete function; None if its arguments have no form in messages."""
        name: str = one.function.name
        if name in self.message.concrete_functions:
            return name
        try:
            signature = encode(one.structured_input_signature)
            outputs = encode(one.structured_outputs)
        except NotEncodable as error:
            log.warning("%s is not exported: %s", name, error)
            return None
        one.add_to_graph(self.graph)
        bound = [self._captured(t) for t in one.captured_inputs]
        entry = self.message.concrete_functions[name]
        entry.bound_inputs.extend(number for number, _ in bound)
        entry.canonicalized_input_signature.CopyFrom(signature)
        entry.output_signature.CopyFrom(outputs)
        return name

    def _captured(self, tensor: Any) -> tuple[int, Any]:
        """The node and the tensor of the exported graph for what a function took from outside."""
        if id(tensor) in self.handles:
            return self.ids[id(tensor)], self.handles[id(tensor)]
        if CONSTANT not in tensor.op.declaration.traits:
            raise AssertionError(
                f"Tried to export a function which references untracked object {tensor}: what a function "
                "uses from outside must be an attribute of the exported object, or of one of its "
                "attributes."
            )
        copy = constant(tensor.op.attrs["value"].array, dtype=tensor.dtype)
        number = len(self.message.nodes)
        self.message.nodes.add().constant.operation = copy.op.name
        self.handles[id(tensor)], self.ids[id(tensor)] = copy, number
        return number, copy

    # -- signatures ----------------------------------------------------------------------------
    def _signature(self, key: str, one: Any) -> Any:
        """Placeholders, a call, and what a server needs to know of them."""
        _, specs = one.structured_input_signature
        inputs = {
            name: source.placeholder(dtype=specs[name].dtype, shape=specs[name].shape, name=f"{key}_{name}")
            for name in sorted(specs)
        }
        bound = [self._captured(t)[1] for t in one.captured_inputs]
        stateful = one.function.definition.signature.is_stateful
        call = function_call.stateful_partitioned_call if stateful else function_call.partitioned_call
        shapes = one.structured_outputs
        order = sorted(shapes)
        types = [shapes[name].dtype for name in order]
        results = call([*inputs.values(), *bound], Tout=types, f=one.function)
        outputs = {}
        for name, result in zip(order, results):
            result.set_shape(shapes[name].shape)
            outputs[name] = build_tensor_info(result)
        return build_signature_def(
            {name: build_tensor_info(t) for name, t in inputs.items()}, outputs, names.PREDICT_METHOD_NAME
        )

    # -- variables -----------------------------------------------------------------------------
    def _saver(self) -> Any:
        """The nodes by which a loader of TF1 restores the variables."""
        file = source.placeholder(dtype="string", shape=[], name="saver_filename")
        keys = [self.objects.key(self.objects.ids[id(v)], VALUE) for v in self.variables]
        handles = [self.handles[id(v.handle)] for v in self.variables]
        types = [v.dtype.base_dtype for v in self.variables]
        graph = constant(self._object_graph(), dtype="string", shape=[])
        reads = [
            state.read_variable(h, dtype=d, name=f"{full_name(v)}/Read/ReadVariableOp")
            for h, d, v in zip(handles, types, self.variables)
        ]
        slices = [""] * (len(keys) + 1)
        save_op = checkpoint.save_v2(file, [*keys, GRAPH_KEY], slices, [*reads, graph])
        with control_dependencies([save_op]):
            saved = source.identity(file, name="save_dependency")
        restored = list(checkpoint.restore_v2(file, keys, slices[:-1], types)) if keys else []
        assigns = [state.assign_variable(h, source.identity(value)) for h, value in zip(handles, restored)]
        restore = group(*assigns, name="restore_all")
        return proto.SaverDef(
            filename_tensor_name=file.name,
            save_tensor_name=saved.name,
            restore_op_name=restore.name,
            version=proto.SaverDef.V2,
        )

    def _object_graph(self) -> bytes:
        return bytes(self.objects.to_proto().SerializeToString(deterministic=True))

    def write_variables(self, prefix: str) -> None:
        """The values of the default session, under the keys of their objects."""
        values = []
        if self.variables:
            session = get_default_session()
            if session is None:
                raise FailedPreconditionError(
                    None, None, "Saving variables needs a default session that has their values."
                )
            values = session.run([v.read_value() for v in self.variables])
        with BundleWriter(prefix) as writer:
            for variable, value in zip(self.variables, values):
                number = self.objects.ids[id(variable)]
                writer.add(self.objects.key(number, VALUE), np.asarray(value))
            writer.add(GRAPH_KEY, strings([self._object_graph()], ()))
            writer.finish()

    def meta_graph(self) -> Any:
        message = export_scoped_meta_graph(graph=self.graph, saver_def=self.saver_def)[0]
        message.meta_info_def.tags.append(names.SERVING)
        for key, signature in self.signature_defs.items():
            message.signature_def[key].CopyFrom(signature)
        message.object_graph_def.CopyFrom(self.message)
        message.asset_file_def.extend(self.tables.files)
        return message


def _describe(node: Any, kind: str) -> None:
    node.user_object.identifier = kind
    node.user_object.version.producer = node.user_object.version.min_consumer = 1


def _functions_of(item: Any) -> list[tuple[str, Any]]:
    """The functions among the attributes of an object, those of its class included."""
    if isinstance(item, (Variable, list, tuple, dict)):
        return []
    found = {}
    for name in dir(type(item)):
        if isinstance(inspect.getattr_static(type(item), name, None), GraphFunction):
            found[name] = getattr(item, name)
    for name, value in vars(item).items():
        if isinstance(value, _FUNCTIONS) and not name.startswith("_traced_"):
            found[name] = value
    return sorted(found.items())


def _concretes(function: Any) -> list[Any]:
    if isinstance(function, RestoredFunction):
        return list(function.concretes)
    if isinstance(function, (ConcreteFunction, Concrete)):
        return [function]
    if function.input_signature is not None:
        return [function.get_concrete_function()]
    return list(function._traces.values())


def _arguments(function: Any) -> Any:
    """What inspect.getfullargspec says of a function, without what has no form in messages."""
    if isinstance(function, RestoredFunction):
        return function.arguments
    python = getattr(function, "python_function", None)
    if python is None:
        args, kwargs = function.structured_input_signature
        listed = [getattr(s, "name", None) or f"args_{i}" for i, s in enumerate(args)]
        return FullArgSpec([*listed, *kwargs], None, None, None, [], None, {})
    found = inspect.getfullargspec(python)
    listed = found.args[1:] if inspect.ismethod(python) else found.args
    defaults = found.defaults
    try:
        encode(defaults)
    except NotEncodable:
        defaults = None
    return FullArgSpec(listed, found.varargs, found.varkw, defaults, found.kwonlyargs, None, {})
