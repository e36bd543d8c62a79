"""tensorflow.python itself, its sessions, files, flags, logs, tests and helpers."""

MODULES: dict[str, str] = {
    "examples.tutorials.mnist.input_data": "=headrace.datasets",
    "python": (
        "*python.framework.framework_lib *python.client.client_lib *python.ops.standard_ops AUTO_REUSE "
        "COMPILER_VERSION CXX11_ABI_FLAG GIT_VERSION GRAPH_DEF_VERSION GRAPH_DEF_VERSION_MIN_CONSUMER "
        "GRAPH_DEF_VERSION_MIN_PRODUCER MONOLITHIC_BUILD QUANTIZED_DTYPES VERSION"
    ),
    "python.client.client_lib": "get_default_session InteractiveSession OpError Session",
    "python.client.device_lib": "headrace.functions.platform.devices/ list_local_devices",
    "python.client.session": "InteractiveSession Session",
    "python.client.timeline": "headrace.runtime.timeline/ Timeline",
    "python.compat.compat": "compat/ forward_compatibility_horizon forward_compatible",
    "python.compat.v2_compat": "disable_v2_behavior",
    "python.eager.context": (
        "device executing_eagerly in_eager_mode=executing_eagerly contrib.eager/ ASYNC async_clear_error "
        "async_wait DEVICE_PLACEMENT_EXPLICIT DEVICE_PLACEMENT_SILENT DEVICE_PLACEMENT_WARN execution_mode "
        "list_devices num_gpus set_execution_mode SYNC"
    ),
    "python.lib.io.file_io": (
        "gfile/ copy=Copy create_dir=MkDir delete_file=Remove delete_recursively=DeleteRecursively "
        "file_exists=Exists get_matching_files=Glob is_directory=IsDirectory "
        "list_directory=ListDirectory recursive_create_dir=MakeDirs rename=Rename stat=Stat walk=Walk "
        "io.gfile/ copy_v2=copy create_dir_v2=mkdir delete_file_v2=remove "
        "delete_recursively_v2=rmtree file_exists_v2=exists get_matching_files_v2=glob "
        "is_directory_v2=isdir list_directory_v2=listdir recursive_create_dir_v2=makedirs "
        "rename_v2=rename stat_v2=stat walk_v2=walk gfile/ FileIO=GFile "
        "headrace.api.inner.text_files/ read_file_to_string write_string_to_file "
        "atomic_write_string_to_file"
    ),
    "python.lib.io.python_io": "*python.lib.io.tf_record",
    "python.lib.io.tf_record": (
        "io/ tf_record_iterator TFRecordCompressionType TFRecordOptions TFRecordWriter"
    ),
    "python.module.module": "Module",
    "python.platform.app": "app/ run",
    "python.platform.benchmark": "test/ Benchmark benchmark_config TensorFlowBenchmark=Benchmark",
    "python.platform.flags": (
        "flags/ DEFINE_alias DEFINE_bool DEFINE_boolean DEFINE_enum DEFINE_enum_class "
        "DEFINE_float DEFINE_integer DEFINE_list DEFINE_multi_enum DEFINE_multi_float "
        "DEFINE_multi_integer DEFINE_multi_string DEFINE_spaceseplist DEFINE_string "
        "DuplicateFlagError Error Flag FLAGS FlagValues IllegalFlagValueError "
        "mark_flag_as_required mark_flags_as_required register_validator UnparsedFlagAccessError "
        "UnrecognizedFlagError ValidationError validator"
    ),
    "python.platform.gfile": "*gfile gfile/ FastGFile GFile Open",
    "python.platform.googletest": "test/ Benchmark main mock StubOutForTesting test_src_dir_path",
    "python.platform.resource_loader": (
        "resource_loader/ get_data_files_path get_path_to_datafile "
        "get_root_dir_with_all_resources load_resource readahead_file_path"
    ),
    "python.platform.sysconfig": "sysconfig/ get_compile_flags get_include get_lib get_link_flags",
    "python.platform.test": (
        "test/ Benchmark compute_gradient compute_gradient_error get_temp_dir gpu_device_name "
        "is_built_with_cuda is_built_with_gpu_support is_built_with_rocm is_gpu_available main "
        "StubOutForTesting test_src_dir_path TestCase"
    ),
    "python.platform.tf_logging": (
        "get_logger logging/ DEBUG debug ERROR error FATAL fatal flush get_verbosity INFO info log "
        "log_every_n log_first_n log_if set_verbosity TaskLevelStatusMessage vlog WARN warn warning"
    ),
    "python.profiler.profiler": ("profiler/ AdviceProto GraphNodeProto MultiGraphNodeProto OpLogProto"),
    "python.pywrap_tensorflow": (
        "GRAPH_DEF_VERSION GRAPH_DEF_VERSION_MIN_CONSUMER GRAPH_DEF_VERSION_MIN_PRODUCER train/ "
        "NewCheckpointReader headrace.api.inner.op_defs/ TF_GetAllOpList TF_GetBuffer"
    ),
    "python.tools.freeze_graph": "=headrace.tools.freeze_graph",
    "python.tools.inspect_checkpoint": "=headrace.tools.inspect_checkpoint",
    "python.tools.optimize_for_inference_lib": "=headrace.tools.optimize_for_inference",
    "python.tools.strip_unused_lib": "=headrace.tools.strip_unused",
    "tools.graph_transforms": "=headrace.tools.transforms.transform_graph",
    "python.eager.monitoring": "headrace.api.inner.monitoring/ BoolGauge Counter IntGauge StringGauge",
    "tools.docs.doc_controls": (
        "headrace.api.util.doc_controls/ do_not_doc_inheritable do_not_generate_docs "
        "for_subclass_implementers"
    ),
}
