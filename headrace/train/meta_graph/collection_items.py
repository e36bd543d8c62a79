"""How the items of the standard collections become messages in a MetaGraphDef, and back."""

from __future__ import annotations

import importlib

from headrace.formats import proto
from headrace.functions.control import flow_protos
from headrace.graph.collection_protos import Conversion, conversion
from headrace.graph.keys import GraphKeys

# Collections whose items are objects: message, and the class that writes and reads it.
_CLASSES: dict[str, tuple[str, str, str]] = {
    **dict.fromkeys(
        [*GraphKeys._VARIABLE_COLLECTIONS, GraphKeys.GLOBAL_STEP, GraphKeys.EVAL_STEP],
        ("VariableDef", "headrace.variables.variable", "Variable"),
    ),
    GraphKeys.QUEUE_RUNNERS: ("QueueRunnerDef", "headrace.train.input_queues.queue_runners", "QueueRunner"),
    GraphKeys.SAVERS: ("SaverDef", "headrace.train.checkpoints.saver", "Saver"),
}
_CONTEXTS = {
    GraphKeys.COND_CONTEXT: ("CondContextDef", "cond_from_proto"),
    GraphKeys.WHILE_CONTEXT: ("WhileContextDef", "while_from_proto"),
}


def conversion_of(key: str) -> Conversion | None:
    """How the items of a collection become messages; None where they are plain values or nodes."""
    given = conversion(key)
    if given is not None:
        return given
    if key in _CONTEXTS:
        message, name = _CONTEXTS[key]
        read = getattr(flow_protos, name)
        return Conversion(getattr(proto, message), flow_protos.to_proto, read)
    if key not in _CLASSES:
        return None
    message, module, name = _CLASSES[key]
    owner = getattr(importlib.import_module(module), name)
    return Conversion(
        getattr(proto, message), lambda item, export_scope: item.to_proto(export_scope), owner.from_proto
    )
