"""tensorflow.python.training, .summary and .saved_model."""

MODULES: dict[str, str] = {
    "python.saved_model.builder": "saved_model.builder/ SavedModelBuilder",
    "python.saved_model.builder_impl": "saved_model.builder/ SavedModelBuilder",
    "python.saved_model.constants": (
        "saved_model/ ASSETS_DIRECTORY ASSETS_KEY LEGACY_INIT_OP_KEY MAIN_OP_KEY "
        "SAVED_MODEL_FILENAME_PB SAVED_MODEL_FILENAME_PBTXT SAVED_MODEL_SCHEMA_VERSION "
        "VARIABLES_DIRECTORY VARIABLES_FILENAME"
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
        "CLASSIFY_OUTPUT_SCORES DEFAULT_SERVING_SIGNATURE_DEF_KEY PREDICT_INPUTS "
        "PREDICT_METHOD_NAME PREDICT_OUTPUTS REGRESS_INPUTS REGRESS_METHOD_NAME REGRESS_OUTPUTS"
    ),
    "python.saved_model.signature_def_utils": (
        "saved_model/ build_signature_def classification_signature_def is_valid_signature "
        "predict_signature_def regression_signature_def"
    ),
    "python.saved_model.signature_def_utils_impl": (
        "saved_model/ build_signature_def classification_signature_def is_valid_signature "
        "predict_signature_def regression_signature_def"
    ),
    "python.saved_model.simple_save": "saved_model/ simple_save",
    "python.saved_model.tag_constants": "saved_model/ GPU SERVING TPU TRAINING",
    "python.saved_model.utils": "saved_model/ build_tensor_info get_tensor_from_tensor_info",
    "python.saved_model.utils_impl": "saved_model/ build_tensor_info get_tensor_from_tensor_info",
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
        "io/ match_filenames_once train/ batch batch_join input_producer limit_epochs "
        "maybe_batch maybe_batch_join maybe_shuffle_batch maybe_shuffle_batch_join "
        "range_input_producer shuffle_batch shuffle_batch_join slice_input_producer "
        "string_input_producer"
    ),
    "python.training.learning_rate_decay": (
        "train/ cosine_decay cosine_decay_restarts exponential_decay inverse_time_decay "
        "linear_cosine_decay natural_exp_decay noisy_linear_cosine_decay piecewise_constant "
        "polynomial_decay"
    ),
    "python.training.momentum": "train/ MomentumOptimizer",
    "python.training.moving_averages": "train/ ExponentialMovingAverage",
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
    "python.training.slot_creator": (
        "headrace.train.optimizers.slots/ create_slot create_slot_with_initializer create_zeros_slot"
    ),
    "python.training.summary_io": (
        "summary/ _FileWriter=FileWriter SummaryWriterCache=FileWriterCache train/ summary_iterator"
    ),
    "python.training.tracking.util": "train/ CheckpointV1=Checkpoint",
    "python.training.training": (
        "*python.training.queue_runner *python.training.input "
        "*python.training.learning_rate_decay io/ write_graph train/ AdadeltaOptimizer "
        "AdagradDAOptimizer AdagradOptimizer AdamOptimizer assert_global_step BytesList "
        "checkpoint_exists ClusterDef Coordinator create_global_step Example "
        "ExponentialMovingAverage export_meta_graph Feature FeatureList FeatureLists Features "
        "FloatList FtrlOptimizer generate_checkpoint_state_proto get_checkpoint_mtimes "
        "get_checkpoint_state get_global_step get_or_create_global_step global_step "
        "GradientDescentOptimizer import_meta_graph init_from_checkpoint Int64List JobDef "
        "latest_checkpoint list_variables load_checkpoint load_variable LooperThread "
        "MomentumOptimizer NewCheckpointReader Optimizer ProximalAdagradOptimizer "
        "ProximalGradientDescentOptimizer RMSPropOptimizer Saver SaverDef SequenceExample "
        "ServerDef summary_iterator update_checkpoint_state VocabInfo warm_start"
    ),
    "python.training.training_util": (
        "io/ write_graph train/ assert_global_step create_global_step get_global_step "
        "get_or_create_global_step global_step"
    ),
    "python.training.warm_starting_util": "train/ VocabInfo warm_start",
}
