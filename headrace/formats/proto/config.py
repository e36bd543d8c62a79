"""Session, run and optimiser options, clusters and servers.

The notation is described in notation.py."""

TABLE = """
file core/protobuf/cluster
message JobDef  name=1:string tasks=2:int32>string
message ClusterDef  job=1:*JobDef

file core/protobuf/debug
message DebugTensorWatch
    node_name=1:string output_slot=2:int32 debug_ops=3:*string debug_urls=4:*string
    tolerate_debug_op_creation_failures=5:bool
message DebugOptions
    debug_tensor_watch_opts=4:*DebugTensorWatch global_step=10:int64
    reset_disk_byte_usage=11:bool
message DebuggedSourceFile
    host=1:string file_path=2:string last_modified=3:int64 bytes=4:int64 lines=5:*string
message DebuggedSourceFiles  source_files=1:*DebuggedSourceFile

file core/protobuf/verifier_config
message VerifierConfig  verification_timeout_in_ms=1:int64 structure_verifier=2:Toggle
enum VerifierConfig.Toggle  DEFAULT=0 ON=1 OFF=2

file core/protobuf/rewriter_config
use  core/framework/attr_value core/protobuf/verifier_config
message AutoParallelOptions  enable=1:bool num_replicas=2:int32
message ScopedAllocatorOptions  enable_op=1:*string
message RewriterConfig
    layout_optimizer=1:Toggle constant_folding=3:Toggle shape_optimization=13:Toggle
    remapping=14:Toggle arithmetic_optimization=7:Toggle dependency_optimization=8:Toggle
    loop_optimization=9:Toggle function_optimization=10:Toggle debug_stripper=11:Toggle
    disable_model_pruning=2:bool scoped_allocator_optimization=15:Toggle
    pin_to_host_optimization=18:Toggle implementation_selector=22:Toggle
    auto_mixed_precision=23:Toggle disable_meta_optimizer=19:bool
    meta_optimizer_iterations=12:NumIterationsType min_graph_nodes=17:int32
    memory_optimization=4:MemOptType memory_optimizer_target_node_name_scope=6:string
    meta_optimizer_timeout_ms=20:int64 auto_parallel=5:AutoParallelOptions
    fail_on_optimizer_errors=21:bool scoped_allocator_opts=16:ScopedAllocatorOptions
    optimizers=100:*string custom_optimizers=200:*CustomGraphOptimizer
    inter_optimizer_verifier_config=300:VerifierConfig
    post_optimization_verifier_config=301:VerifierConfig
enum RewriterConfig.Toggle  DEFAULT=0 ON=1 OFF=2 AGGRESSIVE=3
enum RewriterConfig.NumIterationsType  DEFAULT_NUM_ITERS=0 ONE=1 TWO=2
enum RewriterConfig.MemOptType
    DEFAULT_MEM_OPT=0 NO_MEM_OPT=1 MANUAL=2 SWAPPING_HEURISTICS=4 RECOMPUTATION_HEURISTICS=5
    SCHEDULING_HEURISTICS=6 HEURISTICS=3
message RewriterConfig.CustomGraphOptimizer  name=1:string parameter_map=2:string>AttrValue

file core/protobuf/config
use
    core/framework/cost_graph core/framework/graph core/framework/step_stats
    core/protobuf/cluster core/protobuf/debug core/protobuf/rewriter_config
message GPUOptions
    per_process_gpu_memory_fraction=1:double allow_growth=4:bool allocator_type=2:string
    deferred_deletion_bytes=3:int64 visible_device_list=5:string
    polling_active_delay_usecs=6:int32 polling_inactive_delay_msecs=7:int32
    force_gpu_compatible=8:bool experimental=9:Experimental
message GPUOptions.Experimental
    virtual_devices=1:*VirtualDevices use_unified_memory=2:bool
    num_dev_to_dev_copy_streams=3:int32 collective_ring_order=4:string
    timestamped_allocator=5:bool kernel_tracker_max_interval=7:int32
    kernel_tracker_max_bytes=8:int32 kernel_tracker_max_pending=9:int32
message GPUOptions.Experimental.VirtualDevices  memory_limit_mb=1:*float
message OptimizerOptions
    do_common_subexpression_elimination=1:bool do_constant_folding=2:bool
    max_folded_constant_in_bytes=6:int64 do_function_inlining=4:bool opt_level=3:Level
    global_jit_level=5:GlobalJitLevel
enum OptimizerOptions.Level  L1=0 L0=-1
enum OptimizerOptions.GlobalJitLevel  DEFAULT=0 OFF=-1 ON_1=1 ON_2=2
message GraphOptions
    enable_recv_scheduling=2:bool optimizer_options=3:OptimizerOptions
    build_cost_model=4:int64 build_cost_model_after=9:int64 infer_shapes=5:bool
    place_pruned_graph=6:bool enable_bfloat16_sendrecv=7:bool timeline_step=8:int32
    rewrite_options=10:RewriterConfig
message ThreadPoolOptionProto  num_threads=1:int32 global_name=2:string
message RPCOptions
    use_rpc_for_inprocess_master=1:bool compression_algorithm=2:string
    compression_level=3:int32 cache_rpc_response=4:bool
    disable_session_connection_sharing=5:bool
message SessionMetadata  name=1:string version=2:int64
message ConfigProto
    device_count=1:string>int32 intra_op_parallelism_threads=2:int32
    inter_op_parallelism_threads=5:int32 use_per_session_threads=9:bool
    session_inter_op_thread_pool=12:*ThreadPoolOptionProto placement_period=3:int32
    device_filters=4:*string gpu_options=6:GPUOptions allow_soft_placement=7:bool
    log_device_placement=8:bool graph_options=10:GraphOptions operation_timeout_in_ms=11:int64
    rpc_options=13:RPCOptions cluster_def=14:ClusterDef isolate_session_state=15:bool
    experimental=16:Experimental
message ConfigProto.Experimental
    collective_group_leader=1:string executor_type=3:string recv_buf_max_chunk=4:int32
    use_numa_affinity=5:bool collective_deterministic_sequential_execution=6:bool
    collective_nccl=7:bool share_session_state_in_clusterspec_propagation=8:bool
    disable_thread_spinning=9:bool share_cluster_devices_in_session=10:bool
    session_metadata=11:SessionMetadata optimize_for_static_graph=12:bool
message RunOptions
    trace_level=1:TraceLevel timeout_in_ms=2:int64 inter_op_thread_pool=3:int32
    output_partition_graphs=5:bool debug_options=6:DebugOptions
    report_tensor_allocations_upon_oom=7:bool experimental=8:Experimental
enum RunOptions.TraceLevel  NO_TRACE=0 SOFTWARE_TRACE=1 HARDWARE_TRACE=2 FULL_TRACE=3
message RunOptions.Experimental  collective_graph_key=1:int64 use_run_handler_pool=2:bool
message RunMetadata
    step_stats=1:StepStats cost_graph=2:CostGraphDef partition_graphs=3:*GraphDef
    function_graphs=4:*FunctionGraphs
message RunMetadata.FunctionGraphs
    partition_graphs=1:*GraphDef pre_optimization_graph=2:GraphDef
    post_optimization_graph=3:GraphDef
message TensorConnection  from_tensor=1:string to_tensor=2:string
message CallableOptions
    feed=1:*string fetch=2:*string target=3:*string run_options=4:RunOptions
    tensor_connection=5:*TensorConnection feed_devices=6:string>string
    fetch_devices=7:string>string fetch_skip_sync=8:bool

file core/protobuf/tensorflow_server
use  core/protobuf/config core/protobuf/cluster
message ServerDef
    cluster=1:ClusterDef job_name=2:string task_index=3:int32
    default_session_config=4:ConfigProto protocol=5:string
"""
