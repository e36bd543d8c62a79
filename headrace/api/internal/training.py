"""tensorflow.python.training, .summary, .saved_model and .distribute."""

_RESOLVERS = "python.distribute.cluster_resolver"
MODULES: dict[str, str] = {
    f"{_RESOLVERS}.cluster_resolver": (
        "distribute.cluster_resolver/ ClusterResolver SimpleClusterResolver "
        "UnionClusterResolver=UnionResolver"
    ),
    f"{_RESOLVERS}.gce_cluster_resolver": "distribute.cluster_resolver/ GCEClusterResolver",
    f"{_RESOLVERS}.kubernetes_cluster_resolver": "distribute.cluster_resolver/ KubernetesClusterResolver",
    f"{_RESOLVERS}.slurm_cluster_resolver": "distribute.cluster_resolver/ SlurmClusterResolver",
    f"{_RESOLVERS}.tfconfig_cluster_resolver": "distribute.cluster_resolver/ TFConfigClusterResolver",
    f"{_RESOLVERS}.tpu_cluster_resolver": "distribute.cluster_resolver/ TPUClusterResolver",
    "python.saved_model.builder": "saved_model.builder/ SavedModelBuilder",
    "python.saved_model.builder_impl": "saved_model.builder/ SavedModelBuilder",
    "python.saved_model.constants": (
        "saved_model/ ASSETS_DIRECTORY ASSETS_KEY LEGACY_INIT_OP_KEY MAIN_OP_KEY "
        "SAVED_MODEL_FILENAME_PB SAVED_MODEL_FILENAME_PBTXT SAVED_MODEL_SCHEMA_VERSION "
        "VARIABLES_DIRECTORY VARIABLES_FILENAME headrace.train.saved_model.saved_model_names/ "
        "EXTRA_ASSETS_DIRECTORY INIT_OP_SIGNATURE_KEY TRAIN_OP_KEY TRAIN_OP_SIGNATURE_KEY"
    ),
    "python.saved_model.load": "saved_model/ load=load_v2",
    "python.saved_model.loader": "saved_model/ load maybe_saved_model_directory",
    "python.saved_model.loader_impl": ("saved_model/ contains_saved_model load maybe_saved_model_directory"),
    "python.saved_model.main_op": "saved_model/ main_op_with_restore saved_model.main_op/ main_op",
    "python.saved_model.main_op_impl": ("saved_model/ main_op_with_restore saved_model.main_op/ main_op"),
    "python.saved_model.save": "saved_model/ save",
    "python.saved_model.saved_model": ("*python.saved_model.simple_save saved_model/ load=load_v2 save"),
    "python.saved_model.signature_constants": (
        "saved_model/ CLASSIFY_INPUTS CLASSIFY_METHOD_NAME CLASSIFY_OUTPUT_CLASSES "
        "CLASSIFY_OUTPUT_SCORES DEFAULT_SERVING_SIGNATURE_DEF_KEY PREDICT_INPUTS PREDICT_METHOD_NAME "
        "PREDICT_OUTPUTS REGRESS_INPUTS REGRESS_METHOD_NAME REGRESS_OUTPUTS "
        "headrace.train.saved_model.saved_model_names/ DEFAULT_EVAL_SIGNATURE_DEF_KEY "
        "DEFAULT_TRAIN_SIGNATURE_DEF_KEY SUPERVISED_EVAL_METHOD_NAME SUPERVISED_TRAIN_METHOD_NAME"
    ),
    "python.saved_model.signature_def_utils": (
        "saved_model/ build_signature_def classification_signature_def is_valid_signature "
        "predict_signature_def regression_signature_def"
    ),
    "python.saved_model.signature_def_utils_impl": (
        "saved_model/ build_signature_def classification_signature_def is_valid_signature "
        "predict_signature_def regression_signature_def headrace.train.saved_model.signatures/ "
        "load_op_from_signature_def op_signature_def"
    ),
    "python.saved_model.simple_save": "saved_model/ simple_save",
    "python.saved_model.tag_constants": (
        "saved_model/ GPU SERVING TPU TRAINING headrace.train.saved_model.saved_model_names/ EVAL"
    ),
    "python.saved_model.utils": "saved_model/ build_tensor_info get_tensor_from_tensor_info",
    "python.saved_model.utils_impl": (
        "saved_model/ build_tensor_info get_tensor_from_tensor_info "
        "headrace.train.saved_model.signatures/ build_tensor_info_from_op"
    ),
    "python.summary.plugin_asset": (
        "headrace.train.summaries.plugin_asset/ get_all_plugin_assets get_plugin_asset PluginAsset"
    ),
    "python.summary.summary": (
        "_SummaryMetadata=SummaryMetadata Event SessionLog Summary summary/ audio FileWriter "
        "FileWriterCache get_summary_description histogram image merge merge_all scalar "
        "SummaryDescription TaggedRunMetadata tensor_summary text"
    ),
    "python.summary.summary_iterator": "train/ summary_iterator",
    "python.summary.writer.writer": "summary/ FileWriter",
    "python.summary.writer.writer_cache": "summary/ FileWriter FileWriterCache",
    "python.training.adadelta": "train/ AdadeltaOptimizer",
    "python.training.adagrad": "train/ AdagradOptimizer",
    "python.training.adagrad_da": "train/ AdagradDAOptimizer",
    "python.training.adam": "train/ AdamOptimizer",
    "python.training.basic_loops": "train/ basic_train_loop",
    "python.training.basic_session_run_hooks": (
        "headrace.train.hooks.timer/ _HookTimer=HookTimer NeverTriggerTimer "
        "headrace.train.hooks.step_hooks/ _MultiStepStopAtStepHook=MultiStepStopAtStepHook "
        "get_or_create_steps_per_run_variable headrace.train.hooks.value_hooks/ "
        "_as_graph_element=graph_element summary/ SummaryWriterCache=FileWriterCache train/ "
        "CheckpointSaverHook CheckpointSaverListener FeedFnHook FinalOpsHook GlobalStepWaiterHook "
        "LoggingTensorHook NanLossDuringTrainingError NanTensorHook ProfilerHook SecondOrStepTimer "
        "SessionRunArgs StepCounterHook StopAtStepHook SummarySaverHook"
    ),
    "python.training.checkpoint_management": (
        "train/ checkpoint_exists CheckpointManager generate_checkpoint_state_proto "
        "get_checkpoint_mtimes get_checkpoint_state latest_checkpoint remove_checkpoint "
        "update_checkpoint_state"
    ),
    "python.training.checkpoint_utils": (
        "train/ checkpoints_iterator init_from_checkpoint list_variables load_checkpoint load_variable"
    ),
    "python.training.coordinator": "train/ Coordinator LooperThread",
    "python.training.ftrl": "train/ FtrlOptimizer",
    "python.training.gradient_descent": "train/ GradientDescentOptimizer",
    "python.training.input": (
        "io/ match_filenames_once train/ batch batch_join input_producer limit_epochs maybe_batch "
        "maybe_batch_join maybe_shuffle_batch maybe_shuffle_batch_join range_input_producer "
        "shuffle_batch shuffle_batch_join slice_input_producer string_input_producer "
        "headrace.train.input_queues.sparse_batching/ _store_sparse_tensors=store_all "
        "_restore_sparse_tensors=restore"
    ),
    "python.training.learning_rate_decay": (
        "train/ cosine_decay cosine_decay_restarts exponential_decay inverse_time_decay "
        "linear_cosine_decay natural_exp_decay noisy_linear_cosine_decay piecewise_constant "
        "polynomial_decay"
    ),
    "python.training.momentum": "train/ MomentumOptimizer",
    "python.training.monitored_session": (
        "headrace.train.sessions.layers/ _PREEMPTION_ERRORS=LOST _WrappedSession=WrappedSession "
        "_RecoverableSession=RecoverableSession _CoordinatedSession=CoordinatedSession "
        "_HookedSession=HookedSession headrace.train.sessions.monitored/ "
        "_MonitoredSession=MonitoredSessionBase headrace.train.sessions.training_session/ USE_DEFAULT "
        "train/ ChiefSessionCreator MonitoredSession MonitoredTrainingSession Scaffold "
        "SessionCreator SingularMonitoredSession WorkerSessionCreator"
    ),
    "python.training.moving_averages": (
        "train/ ExponentialMovingAverage headrace.train.schedules.moving_averages/ assign_moving_average "
        "weighted_moving_average"
    ),
    "python.training.optimizer": "train/ Optimizer",
    "python.training.proximal_adagrad": "train/ ProximalAdagradOptimizer",
    "python.training.proximal_gradient_descent": "train/ ProximalGradientDescentOptimizer",
    "python.training.queue_runner": "*python.training.queue_runner_impl",
    "python.training.queue_runner_impl": "train/ add_queue_runner QueueRunner start_queue_runners",
    "python.training.rmsprop": "train/ RMSPropOptimizer",
    "python.training.saver": (
        "headrace.train.checkpoints.saver_builder/ BaseSaverBuilder train/ checkpoint_exists "
        "export_meta_graph generate_checkpoint_state_proto get_checkpoint_mtimes "
        "get_checkpoint_state import_meta_graph latest_checkpoint remove_checkpoint Saver "
        "update_checkpoint_state"
    ),
    "python.training.session_manager": (
        "headrace.train.sessions.session_manager/ _ready=is_ready train/ SessionManager"
    ),
    "python.training.session_run_hook": (
        "train/ SessionRunArgs SessionRunContext SessionRunHook SessionRunValues"
    ),
    "python.training.device_setter": "train/ replica_device_setter",
    "python.training.server_lib": "train/ ClusterSpec Server",
    "python.training.slot_creator": (
        "headrace.train.optimizers.slots/ create_slot create_slot_with_initializer create_zeros_slot"
    ),
    "python.training.summary_io": (
        "summary/ _FileWriter=FileWriter SummaryWriter=FileWriter SummaryWriterCache=FileWriterCache "
        "train/ summary_iterator"
    ),
    "python.training.supervisor": (
        "headrace.train.sessions.supervisor_services/ SVStepCounterThread SVSummaryThread "
        "SVTimerCheckpointThread train/ Supervisor"
    ),
    "python.training.sync_replicas_optimizer": (
        "headrace.train.replicas.sync_replicas/ _SyncReplicasOptimizerHook=SyncReplicasOptimizerHook "
        "train/ SyncReplicasOptimizer"
    ),
    "python.training.tracking.util": "train/ CheckpointV1=Checkpoint",
    "python.training.training": (
        "*python.training.queue_runner *python.training.input *python.training.learning_rate_decay "
        "io/ write_graph headrace.train.hooks.step_hooks/ get_or_create_steps_per_run_variable train/ "
        "AdadeltaOptimizer AdagradDAOptimizer AdagradOptimizer AdamOptimizer assert_global_step "
        "basic_train_loop BytesList checkpoint_exists CheckpointSaverHook CheckpointSaverListener "
        "ChiefSessionCreator ClusterDef Coordinator create_global_step Example "
        "ExponentialMovingAverage export_meta_graph Feature FeatureList FeatureLists Features "
        "FeedFnHook FinalOpsHook FloatList FtrlOptimizer generate_checkpoint_state_proto "
        "get_checkpoint_mtimes get_checkpoint_state get_global_step get_or_create_global_step "
        "global_step GlobalStepWaiterHook GradientDescentOptimizer import_meta_graph "
        "init_from_checkpoint Int64List JobDef latest_checkpoint list_variables load_checkpoint "
        "load_variable LoggingTensorHook LooperThread MomentumOptimizer MonitoredSession "
        "MonitoredTrainingSession NanLossDuringTrainingError NanTensorHook NewCheckpointReader "
        "Optimizer ProfilerHook ProximalAdagradOptimizer ProximalGradientDescentOptimizer "
        "RMSPropOptimizer Saver SaverDef Scaffold SecondOrStepTimer SequenceExample ServerDef "
        "SessionCreator SessionManager SessionRunArgs SessionRunContext SessionRunHook "
        "SessionRunValues SingularMonitoredSession StepCounterHook StopAtStepHook summary_iterator "
        "SummarySaverHook Supervisor SyncReplicasOptimizer update_checkpoint_state VocabInfo "
        "warm_start WorkerSessionCreator train/ replica_device_setter"
    ),
    "python.training.training_util": (
        "headrace.train.schedules.step_count/ GLOBAL_STEP_READ_KEY "
        "_get_or_create_global_step_read=global_step_read "
        "_increment_global_step=increment_global_step io/ write_graph train/ assert_global_step "
        "create_global_step get_global_step get_or_create_global_step global_step"
    ),
    "python.training.warm_starting_util": "train/ VocabInfo warm_start",
    "python.saved_model.model_utils": (
        "*python.saved_model.model_utils.export_output *python.saved_model.model_utils.export_utils"
    ),
    "python.saved_model.model_utils.export_output": (
        "headrace.train.saved_model.export_outputs/ ExportOutput ClassificationOutput "
        "RegressionOutput PredictOutput TrainOutput EvalOutput _SupervisedOutput=SupervisedOutput"
    ),
    "python.saved_model.model_utils.export_utils": (
        "headrace.train.saved_model.export_outputs/ EXPORT_TAG_MAP SIGNATURE_KEY_MAP "
        "SINGLE_FEATURE_DEFAULT_NAME SINGLE_LABEL_DEFAULT_NAME SINGLE_RECEIVER_DEFAULT_NAME "
        "build_all_signature_defs export_outputs_for_mode get_export_outputs get_temp_export_dir "
        "get_timestamped_export_dir"
    ),
    "python.saved_model.model_utils.mode_keys": (
        "headrace.train.saved_model.export_outputs/ EstimatorModeKeys KerasModeKeys ModeKeyMap "
        "is_eval is_predict is_train"
    ),
    "python.training.evaluation": (
        "headrace.train.sessions.evaluation/ "
        "_MultiStepStopAfterNEvalsHook=MultiStepStopAfterNEvalsHook "
        "_StopAfterNEvalsHook=StopAfterNEvalsHook _evaluate_once=evaluate_once "
        "_get_or_create_eval_step=get_or_create_eval_step"
    ),
    "python.distribute.distribute_lib": (
        "headrace.train.replicas.strategy/ InputContext ReplicaContext Strategy StrategyV1=Strategy "
        "StrategyExtended get_loss_reduction"
    ),
    "python.distribute.distribution_strategy_context": (
        "headrace.train.replicas.strategy/ get_replica_context get_strategy has_strategy "
        "in_cross_replica_context"
    ),
    "python.distribute.estimator_training": (
        "headrace.api.inner.estimator_training/ init_run_config should_run_distribute_coordinator"
    ),
    "python.distribute.reduce_util": "headrace.train.replicas.strategy/ ReduceOp",
    "python.distribute.summary_op_util": "headrace.train.replicas.strategy/ skip_summary",
    "python.keras.utils.losses_utils": (
        "headrace.train.replicas.strategy/ scale_loss_for_distribution "
        "headrace.keras.losses.reduction/ ReductionV2=Reduction"
    ),
    "python.distribute.cluster_resolver": (
        "distribute.cluster_resolver/ ClusterResolver SimpleClusterResolver "
        "UnionClusterResolver=UnionResolver GCEClusterResolver KubernetesClusterResolver "
        "SlurmClusterResolver TFConfigClusterResolver TPUClusterResolver"
    ),
}
