"""Public names of the family: the program and its surroundings."""

NAMES: dict[str, str] = {
    "headrace.core.log": (
        "get_logger logging.DEBUG logging.ERROR logging.FATAL logging.INFO logging.WARN "
        "logging.TaskLevelStatusMessage logging.debug logging.error logging.fatal logging.flush "
        "logging.get_verbosity logging.info logging.log logging.log_every_n logging.log_first_n "
        "logging.log_if logging.set_verbosity logging.vlog logging.warn logging.warning"
    ),
    "headrace.functions.platform.flags": "{,app.}flags=.",
    "headrace.functions.platform.app": "app.run",
    "headrace.core.text": "compat.as_bytes compat.as_text compat.as_str=as_text",
    "headrace.functions.platform.compat": (
        "compat.as_str_any compat.path_to_str "
        "compat.bytes_or_text_types compat.complex_types compat.integral_types compat.real_types "
        "{,compat.}dimension_at_index {,compat.}dimension_value compat.forward_compatible "
        "compat.forward_compatibility_horizon"
    ),
    "headrace": "compat.v1=.",
    "headrace.functions.platform.modes": (
        "executing_eagerly disable_v2_behavior disable_v2_tensorshape "
        "disable_tensor_equality disable_control_flow_v2 "
        "control_flow_v2_enabled"
    ),
    "headrace.eager.context": "enable_eager_execution disable_eager_execution",
    "headrace.functions.platform.installation": (
        "load_op_library load_library load_file_system_library {,sysconfig.}CXX11_ABI_FLAG "
        "{,sysconfig.}MONOLITHIC_BUILD sysconfig.get_include sysconfig.get_lib "
        "sysconfig.get_compile_flags sysconfig.get_link_flags resource_loader.get_data_files_path "
        "resource_loader.get_path_to_datafile resource_loader.get_root_dir_with_all_resources "
        "resource_loader.load_resource resource_loader.readahead_file_path"
    ),
    "headrace.functions.platform.devices": (
        "config.experimental_list_devices config.experimental_run_functions_eagerly "
        "config.get_soft_device_placement config.set_soft_device_placement "
        "config.experimental.VirtualDeviceConfiguration config.experimental.get_device_policy "
        "config.experimental.set_device_policy config.experimental.get_memory_growth "
        "config.experimental.set_memory_growth config.experimental.get_synchronous_execution "
        "config.experimental.set_synchronous_execution "
        "config.experimental.get_virtual_device_configuration "
        "config.experimental.set_virtual_device_configuration "
        "config.experimental.get_visible_devices config.experimental.set_visible_devices "
        "config.experimental.list_logical_devices config.experimental.list_physical_devices "
        "config.threading.get_inter_op_parallelism_threads "
        "config.threading.get_intra_op_parallelism_threads "
        "config.threading.set_inter_op_parallelism_threads "
        "config.threading.set_intra_op_parallelism_threads config.optimizer.get_jit "
        "config.optimizer.set_jit config.optimizer.get_experimental_options "
        "config.optimizer.set_experimental_options"
    ),
    "headrace.testing": "test.TestCase",
    "headrace.testing_aids": (
        "test.Benchmark test.StubOutForTesting test.mock test.assert_equal_graph_def "
        "test.benchmark_config test.create_local_cluster test.get_temp_dir test.gpu_device_name "
        "test.is_built_with_cuda test.is_built_with_gpu_support test.is_built_with_rocm "
        "test.is_gpu_available test.main test.test_src_dir_path"
    ),
    "headrace.autodiff.gradient_check": "test.compute_gradient test.compute_gradient_error",
    "headrace.variables.functions.graph_function": "function wrap_function",
    "headrace.variables.functions.batching": (
        "nondifferentiable_batch_function=batch_function contrib.batching.batch_function=batch_function_v1"
    ),
    "headrace.variables.functions.custom_gradient": "custom_gradient recompute_grad grad_pass_through",
    "headrace.formats.gfile": "{,io.}gfile.GFile gfile.FastGFile gfile.Open=GFile",
    "headrace.formats.files": (
        "gfile.Copy=copy_v1 "
        "gfile.DeleteRecursively=delete_recursively_v1 gfile.Exists=exists_v1 gfile.Glob=glob_v1 "
        "gfile.IsDirectory=is_directory_v1 gfile.ListDirectory=list_directory_v1 "
        "gfile.MakeDirs=makedirs_v1 gfile.MkDir=mkdir_v1 gfile.Remove=remove_v1 "
        "gfile.Rename=rename_v1 gfile.Stat=stat_v1 gfile.Walk=walk_v1 io.gfile.copy "
        "io.gfile.exists io.gfile.glob io.gfile.isdir io.gfile.listdir io.gfile.makedirs "
        "io.gfile.mkdir io.gfile.remove io.gfile.rename io.gfile.rmtree io.gfile.stat io.gfile.walk"
    ),
}
