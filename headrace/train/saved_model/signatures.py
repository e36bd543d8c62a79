"""Signatures of a SavedModel: which tensors a server feeds and fetches, under which names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.core import dtypes
from headrace.core.dtypes import DType, as_dtype
from headrace.core.errors import NotFoundError
from headrace.core.shapes import Shape
from headrace.formats import proto
from headrace.functions.sparse.tensor import SparseTensor
from headrace.graph.defaults import get_default_graph
from headrace.graph.graph import Graph
from headrace.graph.scope_names import add_scope
from headrace.graph.tensor import Tensor
from headrace.train.saved_model import saved_model_names as names


# -- tensors ------------------------------------------------------------------------------------
def build_tensor_info(tensor: Any) -> Any:
    """The TensorInfo (name, type, shape) of a tensor or SparseTensor."""
    info = proto.TensorInfo(
        dtype=as_dtype(tensor.dtype).as_datatype_enum, tensor_shape=tensor.get_shape().as_proto()
    )
    if isinstance(tensor, SparseTensor):
        info.coo_sparse.values_tensor_name = tensor.values.name
        info.coo_sparse.indices_tensor_name = tensor.indices.name
        info.coo_sparse.dense_shape_tensor_name = tensor.dense_shape.name
    else:
        info.name = tensor.name
    return info


def build_tensor_info_from_op(op: Any) -> Any:
    """A TensorInfo that names a node instead of a tensor."""
    return proto.TensorInfo(tensor_shape=Shape(None).as_proto(), name=op.name)


def get_tensor_from_tensor_info(
    tensor_info: Any, graph: Graph | None = None, import_scope: str | None = None
) -> Any:
    """The tensor or SparseTensor of a graph that a TensorInfo describes.

    Args:
      tensor_info: the message.
      graph: the graph; the default one if None.
      import_scope: the scope that the graph was imported to.

    Raises:
      KeyError: the graph has no such tensor.
      ValueError: the message does not name one.
    """
    chosen = graph if graph is not None else get_default_graph()

    def find(name: str) -> Tensor:
        return chosen.get_tensor_by_name(add_scope(name, import_scope))

    match tensor_info.WhichOneof("encoding"):
        case "name":
            return find(tensor_info.name)
        case "coo_sparse":
            parts = tensor_info.coo_sparse
            return SparseTensor(
                find(parts.indices_tensor_name),
                find(parts.values_tensor_name),
                find(parts.dense_shape_tensor_name),
            )
    raise ValueError(f"Invalid TensorInfo.encoding: {tensor_info.WhichOneof('encoding')}")


# -- signatures ---------------------------------------------------------------------------------
def build_signature_def(
    inputs: Mapping[str, Any] | None = None,
    outputs: Mapping[str, Any] | None = None,
    method_name: str | None = None,
) -> Any:
    """A SignatureDef from TensorInfos.

    Args:
      inputs, outputs: name -> TensorInfo.
      method_name: what a server calls it.
    """
    signature = proto.SignatureDef(method_name=method_name or "")
    for field, given in ((signature.inputs, inputs), (signature.outputs, outputs)):
        for name, info in (given or {}).items():
            field[name].CopyFrom(info)
    return signature


def _info(tensor: Any, dtype: DType, complaint: str) -> Any:
    info = build_tensor_info(tensor)
    if info.dtype != dtype.as_datatype_enum:
        raise ValueError(complaint)
    return info


def _examples(examples: Any, kind: str) -> Any:
    if examples is None:
        raise ValueError(f"{kind} examples cannot be None.")
    complaint = f"{kind} examples must be a string Tensor."
    if not isinstance(examples, Tensor):
        raise ValueError(complaint)
    return _info(examples, dtypes.string, complaint)


def regression_signature_def(examples: Any, predictions: Any) -> Any:
    """The signature of a regression.

    Args:
      examples: a string tensor that takes serialized tf.train.Examples.
      predictions: a float tensor.

    Raises:
      ValueError: one is missing or of another type.
    """
    inputs = {names.REGRESS_INPUTS: _examples(examples, "Regression")}
    if predictions is None:
        raise ValueError("Regression predictions cannot be None.")
    found = _info(predictions, dtypes.float32, "Regression output must be a float Tensor.")
    return build_signature_def(inputs, {names.REGRESS_OUTPUTS: found}, names.REGRESS_METHOD_NAME)


def classification_signature_def(examples: Any, classes: Any, scores: Any) -> Any:
    """The signature of a classification.

    Args:
      examples: a string tensor that takes serialized tf.train.Examples.
      classes: a string tensor, or None.
      scores: a float tensor, or None.

    Raises:
      ValueError: all are missing, or one is of another type.
    """
    inputs = {names.CLASSIFY_INPUTS: _examples(examples, "Classification")}
    if classes is None and scores is None:
        raise ValueError("Classification classes and scores cannot both be None.")
    outputs = {}
    if classes is not None:
        outputs[names.CLASSIFY_OUTPUT_CLASSES] = _info(
            classes, dtypes.string, "Classification classes must be a string Tensor."
        )
    if scores is not None:
        outputs[names.CLASSIFY_OUTPUT_SCORES] = _info(
            scores, dtypes.float32, "Classification scores must be a float Tensor."
        )
    return build_signature_def(inputs, outputs, names.CLASSIFY_METHOD_NAME)


def predict_signature_def(inputs: Any, outputs: Any) -> Any:
    """The signature of any prediction.

    Args:
      inputs, outputs: name -> tensor.

    Raises:
      ValueError: one is missing or empty.
    """
    for given, kind in ((inputs, "inputs"), (outputs, "outputs")):
        if not given:
            raise ValueError(f"Prediction {kind} cannot be None or empty.")
    return build_signature_def(_infos(inputs), _infos(outputs), names.PREDICT_METHOD_NAME)


def _infos(tensors: Mapping[str, Any]) -> dict[str, Any]:
    return {name: build_tensor_info(tensor) for name, tensor in tensors.items()}


def supervised_signature_def(
    method_name: str, inputs: Any, loss: Any = None, predictions: Any = None, metrics: Any = None
) -> Any:
    """The signature of training or evaluation."""
    if not inputs:
        raise ValueError(f"{method_name} inputs cannot be None or empty.")
    outputs: dict[str, Any] = {}
    for given in (loss, predictions, metrics):
        outputs.update(_infos(given or {}))
    return build_signature_def(_infos(inputs), outputs, method_name)


def is_valid_signature(signature_def: Any) -> bool:
    """Can a server serve this signature?"""
    if signature_def is None:
        return False
    inputs = {name: info.dtype for name, info in signature_def.inputs.items()}
    outputs = {name: info.dtype for name, info in signature_def.outputs.items()}
    text, number = dtypes.string.as_datatype_enum, dtypes.float32.as_datatype_enum
    match signature_def.method_name:
        case names.PREDICT_METHOD_NAME:
            return bool(inputs) and bool(outputs)
        case names.REGRESS_METHOD_NAME:
            return inputs == {names.REGRESS_INPUTS: text} and outputs == {names.REGRESS_OUTPUTS: number}
        case names.CLASSIFY_METHOD_NAME:
            wanted = {names.CLASSIFY_OUTPUT_CLASSES: text, names.CLASSIFY_OUTPUT_SCORES: number}
            return (
                inputs == {names.CLASSIFY_INPUTS: text}
                and bool(outputs)
                and outputs.items() <= wanted.items()
            )
    return False


def op_signature_def(op: Any, key: str) -> Any:
    """A signature whose one output is a node."""
    return build_signature_def(outputs={key: build_tensor_info_from_op(op)})


def load_op_from_signature_def(signature_def: Any, key: str, import_scope: str | None = None) -> Any:
    """The node of a signature made by `op_signature_def`."""
    name = signature_def.outputs[key].name
    try:
        return get_default_graph().as_graph_element(add_scope(name, import_scope))
    except KeyError:
        raise NotFoundError(
            None,
            None,
            f"The {key} could not be found in the graph, though the SavedModel has a signature of that "
            "name: who wrote the model kept the signature and dropped its node.",
        ) from None
