"""What lies below tensorflow.contrib.*.python."""

MODULES: dict[str, str] = {
    "contrib.crf.python.ops.crf": (
        "contrib.crf/ crf_binary_score crf_decode crf_log_likelihood crf_log_norm "
        "crf_multitag_sequence_score crf_sequence_score crf_unary_score CrfDecodeBackwardRnnCell "
        "CrfDecodeForwardRnnCell CrfForwardRnnCell viterbi_decode"
    ),
    "contrib.framework.python.framework": (
        "assert_same_float_dtype assert_scalar convert_to_tensor_or_sparse_tensor is_tensor "
        "contrib.framework/ list_variables load_checkpoint load_variable"
    ),
    "contrib.framework.python.framework.checkpoint_utils": (
        "contrib.framework/ list_variables load_checkpoint load_variable"
    ),
    "contrib.framework.python.framework.tensor_util": (
        "assert_same_float_dtype assert_scalar convert_to_tensor_or_sparse_tensor is_tensor"
    ),
    "contrib.framework.python.ops": (
        "argsort sort contrib.framework/ add_arg_scope add_model_variable arg_scope "
        "arg_scoped_arguments assert_global_step assert_or_get_global_step "
        "assign_from_checkpoint assign_from_checkpoint_fn assign_from_values "
        "assign_from_values_fn create_global_step current_arg_scope filter_variables "
        "get_global_step get_local_variables get_model_variables get_or_create_global_step "
        "get_trainable_variables get_unique_variable get_variable_full_name get_variables "
        "get_variables_by_name get_variables_by_suffix get_variables_to_restore global_variable "
        "has_arg_scope local_variable model_variable variable VariableDeviceChooser "
        "contrib.slim/ arg_scope_func_key"
    ),
    "contrib.framework.python.ops.arg_scope": (
        "contrib.framework/ add_arg_scope arg_scope arg_scoped_arguments current_arg_scope "
        "has_arg_scope contrib.slim/ arg_scope_func_key"
    ),
    "contrib.framework.python.ops.audio_ops": "audio/ decode_wav encode_wav",
    "contrib.framework.python.ops.script_ops": "_py_func=py_func",
    "contrib.framework.python.ops.sort_ops": "argsort sort",
    "contrib.framework.python.ops.variables": (
        "contrib.framework/ add_model_variable assert_global_step assert_or_get_global_step "
        "assign_from_checkpoint assign_from_checkpoint_fn assign_from_values "
        "assign_from_values_fn contrib_add_arg_scope=add_arg_scope create_global_step "
        "filter_variables get_global_step get_local_variables get_model_variables "
        "get_or_create_global_step get_trainable_variables get_unique_variable "
        "get_variable_full_name get_variables get_variables_by_name get_variables_by_suffix "
        "get_variables_to_restore global_variable local_variable model_variable variable "
        "VariableDeviceChooser"
    ),
    "contrib.layers.python.layers": "*contrib.layers",
    "contrib.layers.python.layers.embedding_ops": (
        "contrib.layers/ embedding_lookup_unique safe_embedding_lookup_sparse"
    ),
    "contrib.layers.python.layers.encoders": "contrib.layers/ bow_encoder embed_sequence",
    "contrib.layers.python.layers.initializers": (
        "contrib.layers/ variance_scaling_initializer xavier_initializer xavier_initializer_conv2d"
    ),
    "contrib.layers.python.layers.layers": (
        "contrib.layers/ avg_pool2d avg_pool3d batch_norm bias_add conv1d conv2d conv2d_in_plane "
        "conv2d_transpose conv3d conv3d_transpose convolution convolution1d convolution2d "
        "convolution2d_in_plane convolution2d_transpose convolution3d convolution3d_transpose "
        "dense_to_sparse dropout flatten fully_connected images_to_sequence layer_norm "
        "legacy_fully_connected max_pool2d max_pool3d maxout one_hot_encoding repeat "
        "separable_conv2d separable_convolution2d sequence_to_images softmax spatial_softmax "
        "stack unit_norm contrib.slim/ add_arg_scope pool"
    ),
    "contrib.layers.python.layers.normalization": (
        "contrib.layers/ group_norm instance_norm contrib.slim/ add_arg_scope"
    ),
    "contrib.layers.python.layers.optimizers": (
        "contrib.layers/ optimize_loss OPTIMIZER_CLS_NAMES OPTIMIZER_SUMMARIES contrib.slim/ "
        "adaptive_clipping_fn"
    ),
    "contrib.layers.python.layers.regularizers": (
        "contrib.layers/ apply_regularization l1_l2_regularizer l1_regularizer l2_regularizer sum_regularizer"
    ),
    "contrib.layers.python.layers.summaries": (
        "contrib.layers/ summarize_activation summarize_activations summarize_collection "
        "summarize_tensor summarize_tensors"
    ),
    "contrib.layers.python.layers.utils": "=headrace.contrib.layers.named_outputs",
    "contrib.learn.python.learn.datasets.mnist": "=headrace.datasets",
    "contrib.legacy_seq2seq.python.ops.seq2seq": (
        "contrib.legacy_seq2seq/ attention_decoder basic_rnn_seq2seq embedding_attention_decoder "
        "embedding_attention_seq2seq embedding_rnn_decoder embedding_rnn_seq2seq "
        "embedding_tied_rnn_seq2seq model_with_buckets one2many_rnn_seq2seq rnn_decoder "
        "sequence_loss sequence_loss_by_example tied_rnn_seq2seq"
    ),
    "contrib.losses.python.losses": "*contrib.losses",
    "contrib.losses.python.losses.loss_ops": (
        "contrib.losses/ absolute_difference add_loss compute_weighted_loss cosine_distance "
        "get_losses get_regularization_losses get_total_loss hinge_loss log_loss "
        "mean_pairwise_squared_error mean_squared_error sigmoid_cross_entropy "
        "softmax_cross_entropy sparse_softmax_cross_entropy contrib.slim/ add_arg_scope"
    ),
    "contrib.metrics.python.metrics": "contrib.metrics/ accuracy",
    "contrib.metrics.python.metrics.classification": "contrib.metrics/ accuracy",
    "contrib.metrics.python.ops.metric_ops": (
        "contrib.metrics/ aggregate_metric_map aggregate_metrics streaming_accuracy "
        "streaming_auc streaming_false_negatives streaming_false_negatives_at_thresholds "
        "streaming_false_positives streaming_false_positives_at_thresholds streaming_mean "
        "streaming_mean_absolute_error streaming_mean_cosine_distance streaming_mean_iou "
        "streaming_mean_relative_error streaming_mean_squared_error streaming_mean_tensor "
        "streaming_percentage_less streaming_precision streaming_precision_at_thresholds "
        "streaming_recall streaming_recall_at_thresholds streaming_root_mean_squared_error "
        "streaming_sensitivity_at_specificity streaming_specificity_at_sensitivity "
        "streaming_true_negatives streaming_true_negatives_at_thresholds "
        "streaming_true_positives streaming_true_positives_at_thresholds"
    ),
    "contrib.metrics.python.ops.set_ops": ("sets/ set_difference set_intersection set_size set_union"),
    "contrib.rnn.python.ops.core_rnn_cell": (
        "contrib.rnn/ EmbeddingWrapper InputProjectionWrapper OutputProjectionWrapper RNNCell "
        "headrace.contrib.rnn.linear/ _linear=linear"
    ),
    "contrib.rnn.python.ops.fused_rnn_cell": (
        "contrib.rnn/ FusedRNNCell FusedRNNCellAdaptor TimeReversedFusedRNN"
    ),
    "contrib.rnn.python.ops.gru_ops": "contrib.rnn/ GRUBlockCell GRUBlockCellV2 LayerRNNCell",
    "contrib.rnn.python.ops.lstm_ops": (
        "contrib.rnn/ LayerRNNCell LSTMBlockCell LSTMBlockFusedCell LSTMBlockWrapper"
    ),
    "contrib.rnn.python.ops.rnn": ("contrib.rnn/ stack_bidirectional_dynamic_rnn stack_bidirectional_rnn"),
    "contrib.rnn.python.ops.rnn_cell": (
        "contrib.rnn/ AttentionCellWrapper BidirectionalGridLSTMCell CompiledWrapper "
        "Conv1DLSTMCell Conv2DLSTMCell Conv3DLSTMCell ConvLSTMCell "
        "CoupledInputForgetGateLSTMCell GLSTMCell GridLSTMCell HighwayWrapper IndRNNCell "
        "IndyGRUCell IndyLSTMCell IntersectionRNNCell LayerNormBasicLSTMCell NASCell "
        "PhasedLSTMCell SRUCell TimeFreqLSTMCell UGRNNCell"
    ),
    "contrib.seq2seq.python.ops.attention_wrapper": (
        "contrib.seq2seq/ AttentionMechanism AttentionWrapper AttentionWrapperState "
        "BahdanauAttention BahdanauMonotonicAttention hardmax LuongAttention "
        "LuongMonotonicAttention monotonic_attention safe_cumprod"
    ),
    "contrib.seq2seq.python.ops.basic_decoder": "contrib.seq2seq/ BasicDecoder BasicDecoderOutput",
    "contrib.seq2seq.python.ops.beam_search_decoder": (
        "contrib.seq2seq/ BeamSearchDecoder BeamSearchDecoderOutput BeamSearchDecoderState "
        "FinalBeamSearchDecoderOutput tile_batch"
    ),
    "contrib.seq2seq.python.ops.beam_search_ops": "contrib.seq2seq/ gather_tree",
    "contrib.seq2seq.python.ops.decoder": (
        "contrib.rnn/ _transpose_batch_time=transpose_batch_time contrib.seq2seq/ Decoder dynamic_decode"
    ),
    "contrib.seq2seq.python.ops.helper": (
        "contrib.rnn/ _transpose_batch_time=transpose_batch_time contrib.seq2seq/ CustomHelper "
        "GreedyEmbeddingHelper Helper InferenceHelper SampleEmbeddingHelper "
        "ScheduledEmbeddingTrainingHelper ScheduledOutputTrainingHelper TrainingHelper "
        "headrace.contrib.seq2seq.sampling/ bernoulli_sample categorical_sample"
    ),
    "contrib.seq2seq.python.ops.loss": "contrib.seq2seq/ sequence_loss",
    "contrib.training.python.training.hparam": "contrib.training/ HParams parse_values",
    "contrib.training.python.training.training": (
        "contrib.training/ add_gradients_summaries clip_gradient_norms clip_gradient_norms_fn "
        "create_train_op multiply_gradients"
    ),
    "contrib.util.loader": "headrace.api.inner.native_ops/ load_op_library",
}
