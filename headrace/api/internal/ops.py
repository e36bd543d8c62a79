"""tensorflow.python.ops."""

MODULES: dict[str, str] = {
    "python.ops.array_ops": (
        "*python.ops.gen_array_ops batch_gather batch_to_space boolean_mask broadcast_dynamic_shape "
        "broadcast_static_shape concat constant depth_to_space edit_distance expand_dims "
        "extract_image_patches fill fingerprint gather gather_nd identity matrix_diag "
        "matrix_diag_part matrix_set_diag matrix_transpose meshgrid newaxis one_hot ones ones_like "
        "pad parallel_stack placeholder placeholder_with_default quantize quantize_v2 rank repeat "
        "required_space_to_batch_paddings reshape reverse reverse_sequence searchsorted sequence_mask "
        "setdiff1d shape shape_n size slice space_to_batch space_to_depth sparse_mask "
        "sparse_placeholder split squeeze stack strided_slice transpose unique unique_with_counts "
        "unstack where where_v2 zeros zeros_like image/ extract_image_patches_v2=extract_patches "
        "quantization/ quantize_and_dequantize headrace.functions.array.array/ shape_internal"
    ),
    "python.ops.bitwise_ops": "*python.ops.gen_bitwise_ops",
    "python.ops.candidate_sampling_ops": (
        "nn/ all_candidate_sampler compute_accidental_hits fixed_unigram_candidate_sampler "
        "learned_unigram_candidate_sampler log_uniform_candidate_sampler "
        "uniform_candidate_sampler"
    ),
    "python.ops.check_ops": (
        "assert_equal assert_greater assert_greater_equal assert_integer assert_less "
        "assert_less_equal assert_near assert_negative assert_non_negative assert_non_positive "
        "assert_none_equal assert_positive assert_proper_iterable assert_rank "
        "assert_rank_at_least assert_rank_in assert_same_float_dtype assert_scalar assert_type "
        "ensure_shape is_non_decreasing is_numeric_tensor is_strictly_increasing debugging/ "
        "assert_shapes"
    ),
    "python.ops.clip_ops": (
        "clip_by_average_norm clip_by_global_norm clip_by_norm clip_by_value global_norm"
    ),
    "python.ops.confusion_matrix": (
        "confusion_matrix_v1=confusion_matrix headrace.functions.math.confusion/ remove_squeezable_dimensions"
    ),
    "python.ops.control_flow_grad": "*python.ops.control_flow_ops",
    "python.ops.control_flow_ops": (
        "*python.ops.gen_control_flow_ops Assert case cond group switch_case tuple while_loop "
        "headrace.functions.control.grouping/ with_dependencies "
        "headrace.functions.control.flow_context/ switch=switch_any merge=merge_any"
    ),
    "python.ops.control_flow_v2_toggles": ("control_flow_v2_enabled disable_control_flow_v2"),
    "python.ops.ctc_ops": (
        "nn/ collapse_repeated ctc_beam_search_decoder ctc_beam_search_decoder_v2 "
        "ctc_greedy_decoder ctc_loss ctc_loss_v2 ctc_unique_labels"
    ),
    "python.ops.custom_gradient": "custom_gradient grad_pass_through recompute_grad",
    "python.ops.data_flow_ops": (
        "*python.ops.gen_data_flow_ops ConditionalAccumulator ConditionalAccumulatorBase "
        "FIFOQueue PaddingFIFOQueue PriorityQueue QueueBase RandomShuffleQueue "
        "SparseConditionalAccumulator headrace.functions.queues.record_input/ RecordInput "
        "headrace.functions.queues.staging/ MapStagingArea StagingArea"
    ),
    "python.ops.embedding_ops": ("nn/ embedding_lookup embedding_lookup_sparse safe_embedding_lookup_sparse"),
    "python.ops.collective_ops": (
        "headrace.functions.control.collective/ all_gather all_reduce broadcast_recv broadcast_send"
    ),
    "python.ops.functional_ops": "foldl foldr scan",
    "python.ops.gradient_checker": "test/ compute_gradient compute_gradient_error",
    "python.ops.gradients": (
        "AggregationMethod custom_gradient gradients GradientTape hessians UnconnectedGradients"
    ),
    "python.ops.gradients_impl": "gradients hessians UnconnectedGradients",
    "python.ops.gradients_util": "AggregationMethod UnconnectedGradients",
    "python.ops.histogram_ops": "histogram_fixed_width histogram_fixed_width_bins",
    "python.ops.image_ops": "*python.ops.gen_image_ops *python.ops.image_ops_impl",
    "python.ops.image_ops_impl": (
        "image/ adjust_brightness adjust_contrast adjust_gamma adjust_hue adjust_jpeg_quality "
        "adjust_saturation central_crop combined_non_max_suppression convert_image_dtype "
        "crop_and_resize_v1=crop_and_resize crop_to_bounding_box draw_bounding_boxes "
        "extract_glimpse flip_left_right flip_up_down grayscale_to_rgb image_gradients "
        "non_max_suppression non_max_suppression_padded "
        "non_max_suppression_with_overlaps=non_max_suppression_overlaps "
        "non_max_suppression_with_scores pad_to_bounding_box per_image_standardization psnr "
        "random_brightness random_contrast random_flip_left_right random_flip_up_down random_hue "
        "random_jpeg_quality random_saturation resize_bicubic resize_bilinear "
        "resize_image_with_crop_or_pad resize_image_with_pad_v1=resize_image_with_pad "
        "resize_images resize_nearest_neighbor ResizeMethodV1=ResizeMethod rgb_to_grayscale "
        "rgb_to_yiq rgb_to_yuv rot90 sample_distorted_bounding_box sobel_edges ssim "
        "ssim_multiscale total_variation transpose yiq_to_rgb yuv_to_rgb io/ decode_image "
        "is_jpeg"
    ),
    "python.ops.init_ops": (
        "Constant=constant_initializer constant_initializer glorot_normal_initializer "
        "glorot_uniform_initializer GlorotNormal=glorot_normal_initializer "
        "GlorotUniform=glorot_uniform_initializer Ones=ones_initializer ones_initializer "
        "Orthogonal=orthogonal_initializer orthogonal_initializer random_normal_initializer "
        "random_uniform_initializer RandomNormal=random_normal_initializer "
        "RandomUniform=random_uniform_initializer truncated_normal_initializer "
        "TruncatedNormal=truncated_normal_initializer uniform_unit_scaling_initializer "
        "UniformUnitScaling=uniform_unit_scaling_initializer variance_scaling_initializer "
        "VarianceScaling=variance_scaling_initializer Zeros=zeros_initializer zeros_initializer "
        "contrib.framework/ convolutional_delta_orthogonal convolutional_orthogonal_1d "
        "convolutional_orthogonal_2d convolutional_orthogonal_3d headrace.variables.initializers.orthogonal/ "
        "ConvolutionDeltaOrthogonal ConvolutionOrthogonal ConvolutionOrthogonal1D ConvolutionOrthogonal2D "
        "ConvolutionOrthogonal3D headrace.variables.initializers.initializers/ Initializer "
        "initializers/ he_normal he_uniform Identity=identity identity_initializer=identity "
        "lecun_normal lecun_uniform"
    ),
    "python.ops.initializers_ns": (
        "initializers/ constant global_variables identity local_variables ones orthogonal "
        "random_normal random_uniform truncated_normal uniform_unit_scaling variables "
        "variance_scaling zeros"
    ),
    "python.ops.io_ops": (
        "*python.ops.gen_io_ops FixedLengthRecordReader IdentityReader ReaderBase TextLineReader "
        "TFRecordReader WholeFileReader"
    ),
    "python.ops.linalg_ops": (
        "*python.ops.gen_linalg_ops cholesky_solve eye matrix_solve_ls norm self_adjoint_eig "
        "self_adjoint_eigvals svd"
    ),
    "python.ops.list_ops": (
        "headrace.functions.control.tensor_lists/ empty_tensor_list tensor_list_concat "
        "tensor_list_from_tensor tensor_list_gather tensor_list_get_item tensor_list_pop_back "
        "tensor_list_reserve tensor_list_scatter tensor_list_set_item tensor_list_split "
        "tensor_list_stack"
    ),
    "python.ops.logging_ops": "*python.ops.gen_logging_ops Print print_v2=print",
    "python.ops.lookup_ops": (
        "initialize_all_tables tables_initializer contrib.lookup/ FastHashSpec HasherSpec "
        "IdTableWithHashBuckets KeyValueTensorInitializer LookupInterface MutableHashTable "
        "StrongHashSpec TextFileIdTableInitializer TextFileIndex TextFileInitializer "
        "TextFileStringTableInitializer index_table_from_file index_table_from_tensor "
        "index_to_string_table_from_file index_to_string_table_from_tensor HashTable "
        "InitializableLookupTableBase InitializableLookupTableBaseV1=InitializableLookupTableBase "
        "TableInitializerBase lookup/ StaticHashTable StaticHashTableV1=StaticHashTable "
        "StaticVocabularyTable StaticVocabularyTableV1=StaticVocabularyTable "
        "lookup.experimental/ DenseHashTable"
    ),
    "python.ops.manip_ops": "roll",
    "python.ops.map_fn": "map_fn",
    "python.ops.math_ops": (
        "*python.ops.gen_math_ops abs accumulate_n add_n angle argmax argmin "
        "bincount_v1=bincount cast complex conj count_nonzero cumprod cumsum div div_no_nan "
        "divide equal floordiv floormod imag linspace log_sigmoid logical_xor matmul mod "
        "multiply negative not_equal pow range real realdiv reduce_all reduce_all_v1=reduce_all "
        "reduce_any reduce_any_v1=reduce_any reduce_logsumexp "
        "reduce_logsumexp_v1=reduce_logsumexp reduce_max reduce_max_v1=reduce_max reduce_mean "
        "reduce_mean_v1=reduce_mean reduce_min reduce_min_v1=reduce_min reduce_prod "
        "reduce_prod_v1=reduce_prod reduce_sum reduce_sum_v1=reduce_sum round saturate_cast "
        "scalar_mul sigmoid sparse_segment_mean sparse_segment_sqrt_n sparse_segment_sum "
        "subtract tensordot to_bfloat16 to_complex128 to_complex64 to_double to_float to_int32 "
        "to_int64 trace truediv truncatediv truncatemod unsorted_segment_mean "
        "unsorted_segment_sqrt_n linalg/ matvec math/ cumulative_logsumexp multiply_no_nan "
        "nextafter polyval reciprocal_no_nan reduce_euclidean_norm reduce_std reduce_variance"
    ),
    "python.ops.metrics": "*python.ops.metrics_impl",
    "python.ops.metrics_impl": (
        "metrics/ accuracy auc average_precision_at_k false_negatives false_negatives_at_thresholds "
        "false_positives false_positives_at_thresholds mean mean_absolute_error mean_cosine_distance "
        "mean_iou mean_per_class_accuracy mean_relative_error mean_squared_error mean_tensor "
        "percentage_below precision precision_at_k precision_at_thresholds precision_at_top_k recall "
        "recall_at_k recall_at_thresholds recall_at_top_k root_mean_squared_error "
        "sensitivity_at_specificity sparse_average_precision_at_k sparse_precision_at_k "
        "specificity_at_sensitivity true_negatives true_negatives_at_thresholds true_positives "
        "true_positives_at_thresholds headrace.layers.metrics.state/ metric_variable "
        "_remove_squeezable_dimensions=aligned headrace.layers.metrics.thresholds/ "
        "_confusion_matrix_at_thresholds=confusion_at_thresholds"
    ),
    "python.ops.nn": (
        "*python.ops.ctc_ops *python.ops.nn_impl *python.ops.nn_ops "
        "*python.ops.candidate_sampling_ops *python.ops.embedding_ops sigmoid tanh nn/ "
        "bidirectional_dynamic_rnn dynamic_rnn raw_rnn static_rnn static_state_saving_rnn"
    ),
    "python.ops.nn_impl": (
        "linalg/ normalize nn/ batch_norm_with_global_normalization batch_normalization "
        "compute_average_loss depthwise_conv2d fused_batch_norm l2_normalize log_poisson_loss "
        "moments nce_loss normalize_moments relu_layer sampled_softmax_loss "
        "scale_regularization_loss separable_conv2d sigmoid_cross_entropy_with_logits "
        "sufficient_statistics swish weighted_cross_entropy_with_logits weighted_moments "
        "zero_fraction"
    ),
    "python.ops.nn_ops": (
        "*python.ops.gen_nn_ops nn/ atrous_conv2d atrous_conv2d_transpose avg_pool avg_pool1d "
        "avg_pool2d avg_pool3d avg_pool_v2 bias_add conv1d conv1d_transpose conv2d "
        "conv2d_backprop_filter conv2d_backprop_input conv2d_transpose conv3d_transpose "
        "conv3d_v1=conv3d conv_transpose convolution crelu dilation2d_v1=dilation2d dropout "
        "erosion2d fractional_avg_pool fractional_max_pool in_top_k leaky_relu "
        "local_response_normalization log_softmax max_pool max_pool1d max_pool2d max_pool3d "
        "max_pool_v2 max_pool_with_argmax_v1=max_pool_with_argmax pool relu6 softmax "
        "softmax_cross_entropy_with_logits softmax_cross_entropy_with_logits_v2 "
        "softmax_cross_entropy_with_logits_v2_helper=softmax_cross_entropy_with_logits_v2 "
        "sparse_softmax_cross_entropy_with_logits top_k with_space_to_batch xw_plus_b"
    ),
    "python.ops.numerics": "add_check_numerics_ops verify_tensor_all_finite",
    "python.ops.parsing_ops": (
        "*python.ops.gen_parsing_ops decode_csv decode_raw_v1=decode_raw FixedLenFeature "
        "FixedLenSequenceFeature parse_example parse_single_example "
        "parse_single_sequence_example SparseFeature VarLenFeature io/ parse_sequence_example"
    ),
    "python.ops.partitioned_variables": (
        "create_partitioned_variables fixed_size_partitioner min_max_variable_partitioner "
        "variable_axis_size_partitioner"
    ),
    "python.ops.proto_ops": "io/ decode_proto encode_proto",
    "python.ops.random_ops": (
        "*python.ops.gen_random_ops multinomial random_crop random_gamma random_normal "
        "random_poisson random_shuffle random_uniform truncated_normal random/ categorical "
        "headrace.functions.random.random/ parameterized_truncated_normal"
    ),
    "python.ops.resources": (
        "headrace.variables.shared_resources/ _Resource=Resource initialize_resources local_resources "
        "register_resource report_uninitialized_resources shared_resources"
    ),
    "python.ops.resource_variable_ops": (
        "*python.ops.gen_resource_variable_ops headrace.variables.resource/ ResourceVariable "
        "headrace.variables.resource_base/ BaseResourceVariable is_resource_variable"
    ),
    "python.ops.rnn": (
        "nn/ bidirectional_dynamic_rnn dynamic_rnn raw_rnn static_bidirectional_rnn static_rnn "
        "static_state_saving_rnn headrace.nn.rnn_parts/ _best_effort_input_batch_size=batch_size_of "
        "headrace.nn.rnn/ _transpose_batch_time=swapped python.ops/ rnn_cell_impl"
    ),
    "python.ops.rnn_cell": "*python.ops.rnn_cell_impl",
    "python.ops.rnn_cell_impl": (
        "nn.rnn_cell/ BasicLSTMCell BasicRNNCell DeviceWrapper DropoutWrapper GRUCell LSTMCell "
        "LSTMStateTuple MultiRNNCell ResidualWrapper RNNCell contrib.rnn/ LayerRNNCell "
        "headrace.nn.rnn_parts/ assert_like_rnncell"
    ),
    "python.ops.script_ops": "eager_py_func=py_function numpy_function py_func",
    "python.ops.sets": "*python.ops.sets_impl",
    "python.ops.sets_impl": "sets/ set_difference set_intersection set_size set_union",
    "python.ops.sort_ops": "argsort sort",
    "python.ops.sparse_ops": (
        "*python.ops.gen_sparse_ops deserialize_many_sparse serialize_many_sparse "
        "serialize_sparse sparse_add sparse_concat sparse_fill_empty_rows sparse_maximum "
        "sparse_merge sparse_minimum sparse_reduce_max sparse_reduce_max_sparse "
        "sparse_reduce_sum sparse_reduce_sum_sparse sparse_reorder sparse_reset_shape "
        "sparse_reshape sparse_retain sparse_slice sparse_softmax sparse_split "
        "sparse_tensor_dense_matmul sparse_tensor_to_dense sparse_to_dense sparse_to_indicator "
        "sparse_transpose sparse/ _sparse_cross=cross "
        "_sparse_cross_hashed=cross_hashed from_dense sparse_cross=cross "
        "sparse_cross_hashed=cross_hashed sparse_expand_dims=expand_dims sparse_eye=eye"
    ),
    "python.ops.special_math_ops": "einsum lbeta math/ bessel_i0 bessel_i1",
    "python.ops.standard_ops": (
        "*python.ops.array_ops *python.ops.check_ops *python.ops.clip_ops "
        "*python.ops.special_math_ops *python.ops.data_flow_ops *python.ops.functional_ops "
        "*python.ops.gradients *python.ops.histogram_ops *python.ops.init_ops *python.ops.io_ops "
        "*python.ops.linalg_ops *python.ops.manip_ops *python.ops.math_ops *python.ops.numerics "
        "*python.ops.parsing_ops *python.ops.partitioned_variables *python.ops.proto_ops "
        "*python.ops.random_ops *python.ops.sort_ops *python.ops.sparse_ops "
        "*python.ops.stateless_random_ops *python.ops.string_ops *python.ops.template "
        "*python.ops.tensor_array_ops *python.ops.variable_scope *python.ops.variables Assert "
        "assign assign_add assign_sub case cond count_up_to group initialize_all_tables no_op "
        "AUTO_REUSE Print py_func scatter_add scatter_div scatter_max scatter_min scatter_mul "
        "scatter_nd_add scatter_nd_sub scatter_nd_update scatter_sub scatter_update "
        "tables_initializer tuple while_loop"
    ),
    "python.ops.state_ops": (
        "*python.ops.gen_state_ops assign assign_add assign_sub batch_scatter_update count_up_to "
        "scatter_add scatter_div scatter_max scatter_min scatter_mul scatter_nd_add "
        "scatter_nd_sub scatter_nd_update scatter_sub scatter_update"
    ),
    "python.ops.stateful_random_ops": (
        "random.experimental/ create_rng_state Generator get_global_generator set_global_generator"
    ),
    "python.ops.stateless_random_ops": (
        "random/ stateless_categorical stateless_multinomial "
        "stateless_random_normal=stateless_normal stateless_random_uniform=stateless_uniform "
        "stateless_truncated_normal"
    ),
    "python.ops.string_ops": (
        "*python.ops.gen_string_ops reduce_join regex_replace string_split "
        "string_to_hash_bucket_v1=string_to_hash_bucket string_to_number_v1=string_to_number "
        "substr_deprecated=substr strings/ regex_full_match string_format=format "
        "string_length=length string_to_hash_bucket=to_hash_bucket string_to_number=to_number "
        "substr"
    ),
    "python.ops.summary_ops_v2": (
        "contrib.summary/ always_record_summaries audio create_file_writer create_summary_file_writer "
        "eval_dir flush generic graph histogram image import_event never_record_summaries record_if "
        "record_summaries_every_n_global_steps scalar should_record_summaries summary_writer_initializer_op "
        "SummaryWriter "
        "summary/ all_v2_summary_ops initialize"
    ),
    "python.ops.template": "make_template",
    "python.ops.tensor_array_ops": "TensorArray TensorArraySpec",
    "python.ops.unconnected_gradients": "UnconnectedGradients",
    "python.ops.variable_scope": (
        "AUTO_REUSE disable_resource_variables enable_resource_variables get_local_variable "
        "get_variable get_variable_scope no_regularizer resource_variables_enabled "
        "variable=Variable variable_creator_scope "
        "variable_creator_scope_v1=variable_creator_scope variable_op_scope variable_scope "
        "VariableAggregation VariableScope VariableSynchronization contrib.eager/ EagerVariableStore"
    ),
    "python.ops.variables": (
        "all_variables assert_variables_initialized global_variables "
        "global_variables_initializer initialize_all_variables initialize_local_variables "
        "initialize_variables is_variable_initialized local_variables "
        "local_variables_initializer model_variables moving_average_variables "
        "report_uninitialized_variables trainable_variables Variable VariableAggregation "
        "variables_initializer VariableSynchronization VariableV1=Variable "
        "headrace.variables.partitioned/ PartitionedVariable headrace.variables.ref/ RefVariable"
    ),
    "python.ops.weights_broadcast_ops": (
        "headrace.layers.losses.weights_broadcast/ assert_broadcastable broadcast_weights"
    ),
    "python.ops.clustering_ops": (
        "headrace.api.inner.clustering/ CLUSTERS_VAR_NAME COSINE_DISTANCE KMC2_INIT "
        "KMEANS_PLUS_PLUS_INIT RANDOM_INIT SQUARED_EUCLIDEAN_DISTANCE"
    ),
}
