"""tensorflow.python.framework."""

MODULES: dict[str, str] = {
    "python.framework.composite_tensor": "headrace.functions.values.composite/ CompositeTensor",
    "python.framework.config": (
        "config/ get_soft_device_placement set_soft_device_placement config.experimental/ "
        "get_device_policy get_memory_growth get_synchronous_execution "
        "get_virtual_device_configuration get_visible_devices list_logical_devices "
        "list_physical_devices set_device_policy set_memory_growth set_synchronous_execution "
        "set_virtual_device_configuration set_visible_devices config.optimizer/ "
        "get_optimizer_experimental_options=get_experimental_options get_optimizer_jit=get_jit "
        "set_optimizer_experimental_options=set_experimental_options set_optimizer_jit=set_jit "
        "config.threading/ get_inter_op_parallelism_threads get_intra_op_parallelism_threads "
        "set_inter_op_parallelism_threads set_intra_op_parallelism_threads"
    ),
    "python.framework.constant_op": "constant constant_v1=constant",
    "python.framework.device": "DeviceSpec",
    "python.framework.device_spec": "DeviceSpecV1=DeviceSpec",
    "python.framework.dtypes": (
        "as_dtype bfloat16 bool complex128 complex64 double DType float16 float32 float64 half int16 "
        "int32 int64 int8 qint16 qint32 qint8 quint16 quint8 resource string uint16 uint32 uint64 "
        "uint8 variant dtypes/ QUANTIZED_DTYPES headrace.api.inner.graphs/ float16_ref"
    ),
    "python.framework.errors": (
        "*python.framework.errors_impl errors/ ABORTED ALREADY_EXISTS CANCELLED DATA_LOSS DEADLINE_EXCEEDED "
        "FAILED_PRECONDITION INTERNAL INVALID_ARGUMENT NOT_FOUND OK OUT_OF_RANGE PERMISSION_DENIED "
        "RESOURCE_EXHAUSTED UNAUTHENTICATED UNAVAILABLE UNIMPLEMENTED UNKNOWN"
    ),
    "python.framework.errors_impl": (
        "OpError errors/ ABORTED AbortedError ALREADY_EXISTS AlreadyExistsError CANCELLED "
        "CancelledError DATA_LOSS DataLossError DEADLINE_EXCEEDED DeadlineExceededError "
        "error_code_from_exception_type exception_type_from_error_code FAILED_PRECONDITION "
        "FailedPreconditionError INTERNAL InternalError INVALID_ARGUMENT InvalidArgumentError "
        "NOT_FOUND NotFoundError OK OUT_OF_RANGE OutOfRangeError PERMISSION_DENIED "
        "PermissionDeniedError raise_exception_on_not_ok_status RESOURCE_EXHAUSTED "
        "ResourceExhaustedError UNAUTHENTICATED UnauthenticatedError UNAVAILABLE "
        "UnavailableError UNIMPLEMENTED UnimplementedError UNKNOWN UnknownError"
    ),
    "python.framework.framework_lib": (
        "*python.framework.dtypes *python.framework.load_library add_to_collection "
        "add_to_collections container control_dependencies convert_to_tensor "
        "convert_to_tensor_or_indexed_slices convert_to_tensor_or_sparse_tensor device "
        "DeviceSpec Dimension get_collection get_collection_ref get_default_graph get_seed Graph "
        "GraphKeys import_graph_def IndexedSlices make_ndarray make_tensor_proto name_scope "
        "NoGradient NotDifferentiable op_scope Operation QUANTIZED_DTYPES "
        "register_tensor_conversion_function RegisterGradient "
        "reset_default_graph set_random_seed SparseTensor SparseTensorValue "
        "Tensor TensorShape"
    ),
    "python.framework.function": (
        "headrace.variables.functions.defun/ Defun get_extra_args get_extra_inputs get_extra_vars"
    ),
    "python.framework.graph_io": "io/ write_graph",
    "python.framework.graph_util": (
        "graph_util/ convert_variables_to_constants extract_sub_graph must_run_on_cpu "
        "remove_training_nodes tensor_shape_from_node_def_name"
    ),
    "python.framework.graph_util_impl": (
        "graph_util/ convert_variables_to_constants extract_sub_graph must_run_on_cpu "
        "remove_training_nodes tensor_shape_from_node_def_name"
    ),
    "python.framework.importer": "import_graph_def",
    "python.framework.indexed_slices": (
        "convert_to_tensor_or_indexed_slices IndexedSlices IndexedSlicesSpec "
        "headrace.ops.declaration.indexed_slices/ IndexedSlicesValue headrace.api.inner.graphs/ "
        "internal_convert_to_tensor"
    ),
    "python.framework.load_library": "load_file_system_library load_library load_op_library",
    "python.framework.meta_graph": "headrace.train.meta_graph.meta_graph_export/ create_meta_graph_def",
    "python.framework.ops": (
        "_colocate_with=colocate_with colocate_with add_to_collection add_to_collections container "
        "control_dependencies convert_to_tensor convert_to_tensor_or_indexed_slices device "
        "disable_eager_execution enable_eager_execution disable_tensor_equality get_collection "
        "get_collection_ref get_default_graph get_default_session Graph GraphKeys IndexedSlices "
        "init_scope name_scope no_gradient NoGradient NotDifferentiable op_scope Operation "
        "register_tensor_conversion_function RegisterGradient reset_default_graph Tensor "
        "headrace.ops.declaration.indexed_slices/ IndexedSlicesValue headrace.api.inner.graphs/ "
        "_TensorLike=TensorLike _as_graph_element=as_graph_element "
        "_get_graph_from_inputs=get_graph_from_inputs executing_eagerly_outside_functions "
        "get_name_scope get_to_proto_function get_from_proto_function get_collection_proto_type "
        "internal_convert_to_tensor convert_n_to_tensor convert_n_to_tensor_or_indexed_slices "
        "is_dense_tensor_like register_dense_tensor_like_type prepend_name_scope strip_name_scope "
        "name_from_scope_name uid dismantle_graph headrace.graph.collection_protos/ "
        "register_proto_function headrace.api.inner.graphs/ RegisterShape=register_shape"
    ),
    "python.framework.random_seed": "get_seed set_random_seed",
    "python.framework.sparse_tensor": (
        "convert_to_tensor_or_sparse_tensor SparseTensor SparseTensorSpec SparseTensorValue"
    ),
    "python.framework.tensor_conversion_registry": "register_tensor_conversion_function",
    "python.framework.tensor_shape": (
        "as_dimension=Dimension Dimension dimension_at_index dimension_value "
        "disable_v2_tensorshape TensorShape headrace.core.shapes/ as_shape "
        "headrace.functions.values.shapes/ matrix scalar unknown_shape vector"
    ),
    "python.framework.tensor_spec": "TensorSpec",
    "python.framework.tensor_util": (
        "constant_value=get_static_value is_tensor make_tensor_proto MakeNdarray=make_ndarray "
        "headrace.functions.random.random/ shape_tensor headrace.ops.declaration.constants/ "
        "constant_value_as_shape"
    ),
    "python.framework.test_util": (
        "device disable_control_flow_v2 test/ assert_equal_graph_def "
        "assert_equal_graph_def_v1=assert_equal_graph_def create_local_cluster gpu_device_name "
        "is_gpu_available TensorFlowTestCase=TestCase"
    ),
    "python.framework.type_spec": (
        "TypeSpec headrace.functions.values.composite/ BatchableTypeSpec type_spec_from_value"
    ),
    "python.framework.versions": (
        "COMPILER_VERSION CXX11_ABI_FLAG GIT_VERSION GRAPH_DEF_VERSION "
        "GRAPH_DEF_VERSION_MIN_CONSUMER GRAPH_DEF_VERSION_MIN_PRODUCER MONOLITHIC_BUILD VERSION"
    ),
    "python.framework.common_shapes": "broadcast_shape=broadcast_static_shape",
    "python.framework.op_def_library": "headrace.api.inner.op_defs/ OpDefLibrary",
    "python.framework.op_def_registry": "headrace.api.inner.op_defs/ get_registered_ops register_op_list",
    "python.framework.smart_cond": "headrace.functions.control.cond/ smart_cond smart_constant_value",
    "python.tf2": "=headrace.api.inner.switches",
}
