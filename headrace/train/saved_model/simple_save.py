"""A SavedModel in one call, and the node that initialises everything when one is loaded."""

from __future__ import annotations

from typing import Any

from headrace.functions.control.grouping import group
from headrace.functions.platform.scopes import control_dependencies
from headrace.functions.queues.table_initializer import tables_initializer
from headrace.graph.defaults import get_default_graph
from headrace.graph.keys import GraphKeys
from headrace.graph.node import Node
from headrace.train.saved_model import saved_model_names as names
from headrace.train.saved_model.builder import SavedModelBuilder
from headrace.train.saved_model.signatures import predict_signature_def
from headrace.variables.listing import global_variables_initializer, local_variables_initializer


def simple_save(session: Any, export_dir: Any, inputs: Any, outputs: Any, legacy_init_op: Any = None) -> None:
    """Write a SavedModel for serving, with one signature.

    Args:
      session: has the variables.
      export_dir: a folder that does not exist or is empty.
      inputs: a dict from names to the tensors that a server feeds.
      outputs: a dict from names to the tensors that it fetches.
      legacy_init_op: a node to run when the model was loaded.

    Example:
      >>> tf.saved_model.simple_save(sess, "/tmp/model", {"x": x}, {"y": y})
    """
    builder = SavedModelBuilder(export_dir)
    builder.add_meta_graph_and_variables(
        session,
        tags=[names.SERVING],
        signature_def_map={names.DEFAULT_SERVING_SIGNATURE_DEF_KEY: predict_signature_def(inputs, outputs)},
        assets_collection=get_default_graph().get_collection(GraphKeys.ASSET_FILEPATHS),
        main_op=legacy_init_op,
        clear_devices=True,
    )
    builder.save()


def main_op() -> Node:
    """A node that initialises all variables and tables."""
    return group(global_variables_initializer(), local_variables_initializer(), tables_initializer())


def main_op_with_restore(restore_op_name: Any) -> Node:
    """A node that initialises all variables and tables, and then restores.

    Args:
      restore_op_name: the node that restores.
    """
    with control_dependencies([main_op()]):
        return group(restore_op_name)
