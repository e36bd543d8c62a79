"""Public names of tf.contrib.layers, tf.contrib.framework and tf.contrib.slim."""


def _everywhere(places: str, names: str) -> str:
    """Each name in each place."""
    return " ".join(f"{{{places}}}{name}" for name in names.split())


_LAYERS = "contrib.layers.,contrib.slim."
_FRAMEWORK = "contrib.framework.,contrib.slim."

NAMES: dict[str, str] = {
    "headrace.contrib.framework.arg_scope": _everywhere(
        _FRAMEWORK,
        "arg_scope add_arg_scope current_arg_scope has_arg_scope arg_scoped_arguments arg_scope_func_key",
    ),
    "headrace.contrib.framework.variables": _everywhere(
        _FRAMEWORK,
        "add_model_variable assert_or_get_global_step filter_variables get_local_variables "
        "get_model_variables get_trainable_variables get_unique_variable get_variables_by_name "
        "get_variables_by_suffix get_variable_full_name get_variables_to_restore get_variables "
        "global_variable local_variable model_variable variable VariableDeviceChooser",
    ),
    "headrace.contrib.framework.restoring": _everywhere(
        _FRAMEWORK,
        "assign_from_checkpoint assign_from_checkpoint_fn assign_from_values assign_from_values_fn",
    ),
    "headrace.train.schedules.step_count": _everywhere(
        _FRAMEWORK, "assert_global_step create_global_step get_global_step get_or_create_global_step"
    ),
    "headrace.train.checkpoints.checkpoint_reader": (
        "contrib.framework.list_variables contrib.framework.load_checkpoint contrib.framework.load_variable"
    ),
    "headrace.functions.values.nest": _everywhere(
        "contrib.framework.nest.",
        "flatten map_structure pack_sequence_as assert_same_structure is_sequence=is_nested",
    ),
    "headrace.functions.values.nest_paths": _everywhere(
        "contrib.framework.nest.",
        "assert_shallow_structure flatten_dict_items flatten_up_to map_structure_up_to "
        "get_traverse_shallow_structure yield_flat_paths flatten_with_joined_string_paths "
        "map_structure_with_paths",
    ),
    "headrace.api.util.deprecation": _everywhere(
        "contrib.framework.", "deprecated deprecated_arg_values deprecated_args"
    ),
    "headrace.functions.control.cond": (
        "contrib.framework.smart_cond contrib.framework.smart_constant_value"
    ),
    "headrace.contrib.layers.dense": _everywhere(
        _LAYERS,
        "fully_connected relu relu6 elu linear dropout flatten one_hot_encoding softmax unit_norm maxout",
    ),
    "headrace.contrib.layers.convolution": _everywhere(
        _LAYERS,
        "convolution convolution1d convolution2d convolution3d conv1d conv2d conv3d "
        "convolution2d_transpose convolution3d_transpose conv2d_transpose conv3d_transpose "
        "separable_convolution2d separable_conv2d convolution2d_in_plane conv2d_in_plane",
    ),
    "headrace.contrib.layers.pooling": _everywhere(
        _LAYERS, "avg_pool2d avg_pool3d max_pool2d max_pool3d pool"
    ),
    "headrace.contrib.layers.batch_norm": _everywhere(_LAYERS, "batch_norm"),
    "headrace.contrib.layers.norms": _everywhere(_LAYERS, "layer_norm instance_norm group_norm bias_add"),
    "headrace.contrib.layers.composition": _everywhere(_LAYERS, "repeat stack"),
    "headrace.contrib.layers.reshaping": _everywhere(
        _LAYERS, "dense_to_sparse images_to_sequence sequence_to_images spatial_softmax poincare_normalize"
    ),
    "headrace.contrib.layers.legacy": _everywhere(
        _LAYERS, "legacy_fully_connected legacy_relu legacy_linear"
    ),
    "headrace.contrib.layers.initializers": _everywhere(
        "contrib.layers.,contrib.slim.",
        "xavier_initializer xavier_initializer_conv2d variance_scaling_initializer",
    ),
    "headrace.contrib.layers.regularizers": _everywhere(
        "contrib.layers.,contrib.slim.",
        "l1_regularizer l2_regularizer l1_l2_regularizer sum_regularizer apply_regularization",
    ),
    "headrace.contrib.layers.summaries": _everywhere(
        "contrib.layers.,contrib.slim.",
        "summarize_tensor summarize_activation summarize_tensors summarize_collection "
        "summarize_variables summarize_weights summarize_biases summarize_activations",
    )
    + " contrib.layers.summaries=.",
    "headrace.contrib.layers.encoders": _everywhere(
        "contrib.layers.", "embed_sequence bow_encoder embedding_lookup_unique"
    ),
    "headrace.nn.embedding": "contrib.layers.safe_embedding_lookup_sparse",
    "headrace.contrib.layers.optimize_loss": _everywhere(
        "contrib.layers.,contrib.slim.",
        "optimize_loss adaptive_clipping_fn OPTIMIZER_CLS_NAMES OPTIMIZER_SUMMARIES",
    ),
    "headrace.contrib.layers.named_outputs": "contrib.slim.utils=.",
    "headrace.contrib.losses.losses": _everywhere(
        "contrib.losses.,contrib.slim.losses.",
        "absolute_difference add_loss cosine_distance compute_weighted_loss get_losses "
        "get_regularization_losses get_total_loss hinge_loss log_loss mean_pairwise_squared_error "
        "mean_squared_error sigmoid_cross_entropy softmax_cross_entropy "
        "sparse_softmax_cross_entropy",
    ),
    "headrace.contrib.metrics.metrics": _everywhere(
        "contrib.metrics.,contrib.slim.metrics.",
        "accuracy aggregate_metrics aggregate_metric_map streaming_mean streaming_mean_tensor "
        "streaming_percentage_less streaming_accuracy streaming_mean_absolute_error "
        "streaming_mean_squared_error streaming_root_mean_squared_error "
        "streaming_mean_relative_error streaming_mean_cosine_distance streaming_mean_iou "
        "streaming_true_positives streaming_true_negatives streaming_false_positives "
        "streaming_false_negatives streaming_precision streaming_recall "
        "streaming_true_positives_at_thresholds streaming_true_negatives_at_thresholds "
        "streaming_false_positives_at_thresholds streaming_false_negatives_at_thresholds "
        "streaming_precision_at_thresholds streaming_recall_at_thresholds streaming_auc "
        "streaming_sensitivity_at_specificity streaming_specificity_at_sensitivity",
    ),
    "headrace.contrib.training.hparams": ("contrib.training.HParams contrib.training.parse_values"),
    "headrace.contrib.training.training": (
        _everywhere(
            "contrib.training.,contrib.slim.learning.",
            "add_gradients_summaries clip_gradient_norms multiply_gradients",
        )
        + " contrib.training.clip_gradient_norms_fn contrib.training.create_train_op "
        "contrib.slim.learning.create_train_op=create_slim_train_op"
    ),
    "headrace.contrib.slim.model_analyzer": "contrib.slim.model_analyzer=.",
    "headrace.contrib.slim.named_summaries": "contrib.slim.summaries=.",
}
