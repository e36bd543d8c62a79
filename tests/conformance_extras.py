"""Features that TF 1.15 has outside its public interface, offered to the conformance harness."""

from headrace.formats import proto
from headrace.functions.control import tensor_lists
from headrace.functions.queues import barrier, record_input, staging
from headrace.functions.values import composite
from headrace.layers.losses import weights_broadcast
from headrace.nn import sampled_loss
from headrace.ops.declaration import indexed_slices
from headrace.train.checkpoints import saver_builder
from headrace.train.hooks import step_hooks, timer
from headrace.train.lookup import initializers, mutable_tables, static_tables, vocabularies
from headrace.train.meta_graph import meta_graph_export
from headrace.train.optimizers import slots
from headrace.train.schedules import step_count
from headrace.train.sessions import layers, monitored, training_session
from headrace.train.summaries import plugin_asset, recorded_summary, summary_writer
from headrace.variables import partitioned, shared_resources, slices, store
from headrace.variables.functions import defun
from headrace.variables.initializers import initial_value
from tests import test_only_ops

NAMES: dict[str, object] = {
    "composite_tensor.CompositeTensor": composite.CompositeTensor,
    "type_spec.type_spec_from_value": composite.type_spec_from_value,
    "type_spec.BatchableTypeSpec": composite.BatchableTypeSpec,
    "indexed_slices.IndexedSlicesValue": indexed_slices.IndexedSlicesValue,
    "ops.IndexedSlicesValue": indexed_slices.IndexedSlicesValue,
    "data_flow_ops.StagingArea": staging.StagingArea,
    "data_flow_ops.MapStagingArea": staging.MapStagingArea,
    "data_flow_ops.Barrier": barrier.Barrier,
    "data_flow_ops.RecordInput": record_input.RecordInput,
    # messages that no public name leads to
    "queue_runner_pb2.QueueRunnerDef": proto.QueueRunnerDef,
    "checkpoint_state_pb2.CheckpointState": proto.CheckpointState,
    "saver.BaseSaverBuilder": saver_builder.BaseSaverBuilder,
    "function.Defun": defun.Defun,
    "function.get_extra_args": defun.get_extra_args,
    "function.get_extra_inputs": defun.get_extra_inputs,
    "function.get_extra_vars": defun.get_extra_vars,
    "variables.PartitionedVariable": partitioned.PartitionedVariable,
    "variables._try_guard_against_uninitialized_dependencies": initial_value.guarded,
    "variable_scope._PartitionInfo": slices.PartitionInfo,
    "variable_scope._get_default_variable_store": store.default_store,
    "slot_creator.create_slot": slots.create_slot,
    "slot_creator.create_slot_with_initializer": slots.create_slot_with_initializer,
    "slot_creator.create_zeros_slot": slots.create_zeros_slot,
    "weights_broadcast_ops.assert_broadcastable": weights_broadcast.assert_broadcastable,
    "weights_broadcast_ops.broadcast_weights": weights_broadcast.broadcast_weights,
    "meta_graph.create_meta_graph_def": meta_graph_export.create_meta_graph_def,
    "summary_ops_v2.always_record_summaries": summary_writer.always_record_summaries,
    "summary_ops_v2.import_event": recorded_summary.import_event,
    "summary_ops_v2.scalar": recorded_summary.scalar,
    "plugin_asset.PluginAsset": plugin_asset.PluginAsset,
    "plugin_asset.get_plugin_asset": plugin_asset.get_plugin_asset,
    "plugin_asset.get_all_plugin_assets": plugin_asset.get_all_plugin_assets,
    "summary_ops_v2.create_file_writer": summary_writer.create_file_writer,
    "nn_impl._compute_sampled_logits": sampled_loss._sampled_logits,
    "training_util._get_or_create_global_step_read": step_count.global_step_read,
    "training_util._increment_global_step": step_count.increment_global_step,
    "basic_session_run_hooks._HookTimer": timer.HookTimer,
    "basic_session_run_hooks.NeverTriggerTimer": timer.NeverTriggerTimer,
    "basic_session_run_hooks._MultiStepStopAtStepHook": step_hooks.MultiStepStopAtStepHook,
    "basic_session_run_hooks.get_or_create_steps_per_run_variable": (
        step_hooks.get_or_create_steps_per_run_variable
    ),
    "monitored_session._HookedSession": layers.HookedSession,
    "monitored_session._CoordinatedSession": layers.CoordinatedSession,
    "monitored_session._RecoverableSession": layers.RecoverableSession,
    "monitored_session._WrappedSession": layers.WrappedSession,
    "monitored_session._MonitoredSession": monitored.MonitoredSessionBase,
    "monitored_session.USE_DEFAULT": training_session.USE_DEFAULT,
    "resources.register_resource": shared_resources.register_resource,
    "resources.shared_resources": shared_resources.shared_resources,
    "resources.initialize_resources": shared_resources.initialize_resources,
}
NAMES |= {
    f"list_ops.{name}": value
    for name, value in vars(tensor_lists).items()
    if name.startswith(("tensor_list_", "empty_tensor_list"))
}
NAMES |= {
    f"lookup_ops.{name}": getattr(module, name)
    for module, names in (
        (
            initializers,
            "KeyValueTensorInitializer TextFileInitializer TextFileIndex TextFileIdTableInitializer "
            "TextFileStringTableInitializer",
        ),
        (static_tables, "IdTableWithHashBuckets FastHashSpec StrongHashSpec HasherSpec"),
        (
            vocabularies,
            "index_table_from_file index_table_from_tensor index_to_string_table_from_file "
            "index_to_string_table_from_tensor",
        ),
        (mutable_tables, "MutableHashTable DenseHashTable"),
    )
    for name in names.split()
}
NAMES["lookup_ops.HashTable"] = static_tables.StaticHashTable
assert test_only_ops.older_graph is not None  # importing it declares the ops
