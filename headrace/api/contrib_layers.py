"""Public names of tf.contrib.layers, tf.contrib.framework and tf.contrib.slim."""


def _everywhere(places: str, names: str) -> str:
    """Each name in each place."""
    return " ".join(f"{{{places}}}{name}" for name in names.split())


_LAYERS = "contrib.layers.,contrib.slim.,contrib.layers.python.layers.layers."
_FRAMEWORK = "contrib.framework.,contrib.slim."
_VARIABLES = f"{_FRAMEWORK},contrib.framework.python.ops.variables."
_SCOPES = f"{_FRAMEWORK},contrib.framework.python.ops."

NAMES: dict[str, str] = {
    "headrace.layers.contrib.arg_scope": _everywhere(
        _SCOPES,
        "arg_scope add_arg_scope current_arg_scope has_arg_scope arg_scoped_arguments "
        "arg_scope_func_key",
    ),
    "headrace.layers.contrib.variables": _everywhere(
        _VARIABLES,
        "add_model_variable assert_or_get_global_step filter_variables get_local_variables "
        "get_model_variables get_trainable_variables get_unique_variable get_variables_by_name "
        "get_variables_by_suffix get_variable_full_name get_variables_to_restore get_variables "
        "global_variable local_variable model_variable variable VariableDeviceChooser",
    ),
    "headrace.layers.contrib.restoring": _everywhere(
        _VARIABLES,
        "assign_from_checkpoint assign_from_checkpoint_fn assign_from_values assign_from_values_fn",
    ),
    "headrace.train.step_count": _everywhere(
        _VARIABLES,
        "assert_global_step create_global_step get_global_step get_or_create_global_step",
    ),
    "headrace.train.checkpoint_reader": (
        "contrib.framework.list_variables contrib.framework.load_checkpoint "
        "contrib.framework.load_variable"
    ),
    "headrace.functions.nest": _everywhere(
        "contrib.framework.nest.",
        "flatten map_structure pack_sequence_as assert_same_structure is_sequence=is_nested",
    ),
    "headrace.layers.contrib.dense": _everywhere(
        _LAYERS,
        "fully_connected relu relu6 elu linear dropout flatten one_hot_encoding softmax unit_norm "
        "maxout",
    ),
    "headrace.layers.contrib.convolution": _everywhere(
        _LAYERS,
        "convolution convolution1d convolution2d convolution3d conv1d conv2d conv3d "
        "convolution2d_transpose convolution3d_transpose conv2d_transpose conv3d_transpose "
        "separable_convolution2d separable_conv2d convolution2d_in_plane conv2d_in_plane",
    ),
    "headrace.layers.contrib.pooling": _everywhere(
        _LAYERS, "avg_pool2d avg_pool3d max_pool2d max_pool3d pool"
    ),
    "headrace.layers.contrib.batch_norm": _everywhere(_LAYERS, "batch_norm"),
    "headrace.layers.contrib.norms": _everywhere(
        _LAYERS, "layer_norm instance_norm group_norm bias_add"
    ),
    "headrace.layers.contrib.composition": _everywhere(_LAYERS, "repeat stack"),
    "headrace.layers.contrib.reshaping": _everywhere(
        _LAYERS,
        "dense_to_sparse images_to_sequence sequence_to_images spatial_softmax poincare_normalize",
    ),
    "headrace.layers.contrib.legacy": _everywhere(
        _LAYERS, "legacy_fully_connected legacy_relu legacy_linear"
    ),
    "headrace.layers.contrib.initializers": _everywhere(
        "contrib.layers.,contrib.slim.,contrib.layers.python.layers.initializers.",
        "xavier_initializer xavier_initializer_conv2d variance_scaling_initializer",
    ),
    "headrace.layers.contrib.regularizers": _everywhere(
        "contrib.layers.,contrib.slim.,contrib.layers.python.layers.regularizers.",
        "l1_regularizer l2_regularizer l1_l2_regularizer sum_regularizer apply_regularization",
    ),
    "headrace.layers.contrib.summaries": _everywhere(
        "contrib.layers.,contrib.slim.",
        "summarize_tensor summarize_activation summarize_tensors summarize_collection "
        "summarize_variables summarize_weights summarize_biases summarize_activations",
    ),
    "headrace.layers.contrib.encoders": _everywhere(
        "contrib.layers.", "embed_sequence bow_encoder embedding_lookup_unique"
    ),
    "headrace.nn.embedding": "contrib.layers.safe_embedding_lookup_sparse",
    "headrace.layers.contrib.optimize_loss": _everywhere(
        "contrib.layers.,contrib.slim.",
        "optimize_loss adaptive_clipping_fn OPTIMIZER_CLS_NAMES OPTIMIZER_SUMMARIES",
    ),
    "headrace.layers.contrib.utils": (
        "contrib.layers.python.layers.utils=. contrib.layers.utils=."
    ),
}
