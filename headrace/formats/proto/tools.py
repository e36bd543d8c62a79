"""Test logs, shape inference, transferred graphs, boosted trees, autotuning logs.

The notation is described in notation.py."""

TABLE = """
file core/debug/debugger_event_metadata package third_party.tensorflow.core.debug
message DebuggerEventMetadata
    device=1:string output_slot=2:int32 num_chunks=3:int32 chunk_index=4:int32

file core/debug/debug_service
use  core/framework/tensor core/profiler/tfprof_log core/protobuf/debug core/util/event
message EventReply  debug_op_state_changes=1:*DebugOpStateChange tensor=2:TensorProto
message EventReply.DebugOpStateChange
    state=1:State node_name=2:string output_slot=3:int32 debug_op=4:string
enum EventReply.DebugOpStateChange.State
    STATE_UNSPECIFIED=0 DISABLED=1 READ_ONLY=2 READ_WRITE=3
message CallTraceback
    call_type=1:CallType call_key=2:string origin_stack=3:tfprof.CodeDef
    origin_id_to_string=4:int64>string graph_traceback=5:tfprof.OpLogProto
    graph_version=6:int64
enum CallTraceback.CallType  UNSPECIFIED=0 GRAPH_EXECUTION=1 EAGER_EXECUTION=2

file core/util/test_log
use  google/protobuf/any google/protobuf/wrappers
message EntryValue  kind{ double_value=1:double string_value=2:string }
message MetricEntry
    name=1:string value=2:double min_value=3:google.protobuf.DoubleValue
    max_value=4:google.protobuf.DoubleValue
message BenchmarkEntry
    name=1:string iters=2:int64 cpu_time=3:double wall_time=4:double throughput=5:double
    extras=6:string>EntryValue metrics=7:*MetricEntry
message BenchmarkEntries  entry=1:*BenchmarkEntry
message BuildConfiguration  mode=1:string cc_flags=2:*string opts=3:*string
message CommitId
    kind{ changelist=1:int64 hash=2:string } snapshot=3:string pending_changelist=4:int64
message CPUInfo
    num_cores=1:int64 num_cores_allowed=2:int64 mhz_per_cpu=3:double cpu_info=4:string
    cpu_governor=5:string cache_size=6:string>int64
message MemoryInfo  total=1:int64 available=2:int64
message GPUInfo  model=1:string uuid=2:string bus_id=3:string
message PlatformInfo
    bits=1:string linkage=2:string machine=3:string release=4:string system=5:string
    version=6:string
message AvailableDeviceInfo
    name=1:string type=2:string memory_limit=3:int64 physical_description=4:string
message MachineConfiguration
    hostname=1:string serial_identifier=7:string platform_info=2:PlatformInfo
    cpu_info=3:CPUInfo device_info=4:*google.protobuf.Any
    available_device_info=5:*AvailableDeviceInfo memory_info=6:MemoryInfo
message RunConfiguration  argument=1:*string
message TestResults
    target=1:string entries=2:BenchmarkEntries build_configuration=3:BuildConfiguration
    commit_id=4:CommitId start_time=5:int64 run_time=6:double
    machine_configuration=7:MachineConfiguration run_configuration=8:RunConfiguration
    name=9:string benchmark_type=10:BenchmarkType run_mode=11:string tf_version=12:string
enum TestResults.BenchmarkType
    UNKNOWN=0 CPP_MICROBENCHMARK=1 PYTHON_BENCHMARK=2 ANDROID_BENCHMARK=3

file python/framework/cpp_shape_inference
use  core/framework/types core/framework/tensor_shape
message CppShapeInferenceResult  shape=1:TensorShapeProto handle_data=4:HandleData
message CppShapeInferenceResult.HandleShapeAndType  shape=1:TensorShapeProto dtype=2:DataType
message CppShapeInferenceResult.HandleData  is_set=1:bool shape_and_type=2:*HandleShapeAndType
message CppShapeInferenceInputsNeeded
    input_tensors_needed=1:*int32 input_tensors_as_shapes_needed=2:*int32

file core/framework/remote_fused_graph_execute_info
use  core/framework/graph core/framework/tensor_shape core/framework/types
message RemoteFusedGraphExecuteInfo
    remote_graph=1:GraphDef graph_input_node_name=2:*string graph_output_node_name=3:*string
    executor_name=4:string serialized_executor_parameters=5:bytes
    default_graph_input_tensor_shape=6:*TensorShapeTypeProto
    default_graph_output_tensor_shape=7:*TensorShapeTypeProto
message RemoteFusedGraphExecuteInfo.TensorShapeTypeProto
    dtype=1:DataType shape=2:TensorShapeProto

file core/framework/graph_transfer_info
use  core/framework/types
message GraphTransferNodeInput  node_id=1:int32 output_port=2:int32
message GraphTransferNodeInfo
    name=1:string node_id=2:int32 type_name=3:string soc_op_id=4:int32 padding_id=5:int32
    input_count=6:int32 output_count=7:int32
message GraphTransferConstNodeInfo
    name=1:string node_id=2:int32 shape=3:*int64 data=4:bytes dtype=5:DataType
message GraphTransferNodeInputInfo  node_id=1:int32 node_input=2:*GraphTransferNodeInput
message GraphTransferNodeOutputInfo  node_id=1:int32 max_byte_size=2:*int32
message GraphTransferGraphInputNodeInfo  name=1:string shape=2:*int64 dtype=3:DataType
message GraphTransferGraphOutputNodeInfo  name=1:string shape=2:*int64 dtype=3:DataType
message GraphTransferInfo
    node_info=1:*GraphTransferNodeInfo const_node_info=2:*GraphTransferConstNodeInfo
    node_input_info=3:*GraphTransferNodeInputInfo
    node_output_info=4:*GraphTransferNodeOutputInfo
    graph_input_node_info=5:*GraphTransferGraphInputNodeInfo
    graph_output_node_info=6:*GraphTransferGraphOutputNodeInfo destination=7:Destination
enum GraphTransferInfo.Destination  NOP=0 HEXAGON=1

file core/kernels/boosted_trees/boosted_trees package tensorflow.boosted_trees
enum SplitTypeWithDefault
    INEQUALITY_DEFAULT_LEFT=0 INEQUALITY_DEFAULT_RIGHT=1 EQUALITY_DEFAULT_RIGHT=3
enum DefaultDirection  DEFAULT_LEFT=0 DEFAULT_RIGHT=1
message Node
    node{ leaf=1:Leaf bucketized_split=2:BucketizedSplit categorical_split=3:CategoricalSplit
    dense_split=4:DenseSplit } metadata=777:NodeMetadata
message NodeMetadata  gain=1:float original_leaf=2:Leaf
message Leaf  leaf{ vector=1:Vector sparse_vector=2:SparseVector } scalar=3:float
message Vector  value=1:*float
message SparseVector  index=1:*int32 value=2:*float
message BucketizedSplit
    feature_id=1:int32 threshold=2:int32 dimension_id=5:int32
    default_direction=6:DefaultDirection left_id=3:int32 right_id=4:int32
message CategoricalSplit
    feature_id=1:int32 value=2:int32 dimension_id=5:int32 left_id=3:int32 right_id=4:int32
message DenseSplit  feature_id=1:int32 threshold=2:float left_id=3:int32 right_id=4:int32
message Tree  nodes=1:*Node
message TreeMetadata
    num_layers_grown=2:int32 is_finalized=3:bool post_pruned_nodes_meta=4:*PostPruneNodeUpdate
message TreeMetadata.PostPruneNodeUpdate  new_node_id=1:int32 logit_change=2:*float
message GrowingMetadata
    num_trees_attempted=1:int64 num_layers_attempted=2:int64 last_layer_node_start=3:int32
    last_layer_node_end=4:int32
message TreeEnsemble
    trees=1:*Tree tree_weights=2:*float tree_metadata=3:*TreeMetadata
    growing_metadata=4:GrowingMetadata
message DebugOutput  feature_ids=1:*int32 logits_path=2:*float

file stream_executor/dnn package stream_executor.dnn
enum DataType  kFloat=0 kDouble=1 kHalf=2 kInt8=3 kInt32=4
enum DataLayout
    kYXDepthBatch=0 kYXBatchDepth=1 kBatchYXDepth=2 kBatchDepthYX=3 kBatchDepthYX4=4
enum FilterLayout
    kOutputInputYX=0 kOutputYXInput=1 kOutputInputYX4=2 kInputYXOutput=3 kYXInputOutput=4
enum ActivationMode  kNone=0 kSigmoid=1 kRelu=2 kRelu6=3 kReluX=4 kTanh=5 kBandPass=6
enum ConvolutionMode  CROSS_CORRELATION=0 CONVOLUTION=1
enum ConvolutionKind
    INVALID=0 FORWARD=1 BACKWARD_FILTER=2 BACKWARD_DATA=3 FORWARD_BIAS_ACTIVATION=4
message TensorDescriptorProto
    dimensions=1:*int64 data_type=2:DataType layout_oneof{ data_layout=3:DataLayout
    filter_layout=4:FilterLayout }
message AlgorithmProto  algo_id=1:int64 math_type=2:MathType
enum AlgorithmProto.MathType  DEFAULT_MATH=0 TENSOR_OP_MATH=1
message ConvolutionDescriptorProto
    paddings=1:*int64 strides=2:*int64 dilations=3:*int64 compute_mode=4:DataType
    group_count=5:int32 convolution_mode=6:ConvolutionMode name=7:string

file core/protobuf/autotuning
use  google/protobuf/any google/protobuf/duration
message CudnnVersion  major=1:int32 minor=2:int32 patch=3:int32
message ComputeCapability  major=1:int32 minor=2:int32
message AutotuneResult
    scratch_bytes=8:int64 run_time=9:google.protobuf.Duration failure=7:FailureResult
    key{ conv=5:ConvKey gemm=6:GemmKey }
enum AutotuneResult.FailureKind  UNKNOWN=0 REDZONE_MODIFIED=1 WRONG_RESULT=2
message AutotuneResult.FailureResult
    kind=1:FailureKind msg=2:string key{ reference_conv=11:ConvKey reference_gemm=12:GemmKey }
    buffer_address=13:int64
message AutotuneResult.ConvKey  algorithm=1:int64 tensor_ops_enabled=2:bool
message AutotuneResult.GemmKey  algorithm=1:int64
message AutotuningLog
    instr=1:google.protobuf.Any results=2:*AutotuneResult cudnn_version=3:CudnnVersion
    compute_capability=4:ComputeCapability device_pci_bus_id=5:string blas_version=6:string

file core/protobuf/conv_autotuning
use  stream_executor/dnn
message ConvolutionProto
    kind=1:stream_executor.dnn.ConvolutionKind
    input=2:stream_executor.dnn.TensorDescriptorProto
    filter=3:stream_executor.dnn.TensorDescriptorProto
    output=4:stream_executor.dnn.TensorDescriptorProto
    conv_desc=5:stream_executor.dnn.ConvolutionDescriptorProto conv_scale=6:double
    side_value_scale=7:double activation=8:stream_executor.dnn.ActivationMode
    input_address=9:int64 filter_address=10:int64 output_address=11:int64
    bias_address=12:int64 side_input_address=13:int64
"""
