"""Profiles: tfprof, pprof, op profiles, trace events, the profiler service.

The notation is described in notation.py."""

TABLE = """
file core/profiler/tfprof_log package tensorflow.tfprof
use  core/framework/attr_value core/framework/step_stats
message CodeDef  traces=1:*Trace
message CodeDef.Trace
    file=1:string file_id=6:int64 lineno=2:int32 function=3:string function_id=7:int64
    line=4:string line_id=8:int64 func_start_line=5:int32
message OpLogEntry  name=1:string float_ops=2:int64 types=3:*string code_def=4:CodeDef
message OpLogProto  log_entries=1:*OpLogEntry id_to_string=2:int64>string
message ProfileProto
    nodes=1:int64>ProfileNode has_trace=2:bool miss_accelerator_stream=5:bool steps=3:*int64
    id_to_string=4:int64>string
message ProfileNode
    name=1:string op=9:string id=13:int64 inputs=2:int32>int64 input_shapes=16:int32>Tuple
    outputs=3:int32>int64 output_shapes=15:int32>Tuple src_output_index=14:int64>int32
    shape=4:*int64 op_types=5:*string canonical_device=6:string host_device=7:string
    float_ops=8:int64 trace=10:CodeDef attrs=11:string>AttrValue execs=12:int64>ExecProfile
message ExecProfile
    run_count=1:int64 all_start_micros=2:int64 latest_end_micros=3:int64
    accelerator_execs=4:string>ExecTime cpu_execs=5:string>ExecTime memory_execs=7:*ExecMemory
    allocations=11:*AllocationRecord devices=6:*string
message ExecTime  times=1:*Tuple
message ExecMemory
    memory_micros=1:int64 host_temp_bytes=2:int64 host_persistent_bytes=3:int64
    accelerator_temp_bytes=4:int64 accelerator_persistent_bytes=5:int64
    requested_bytes=6:int64 peak_bytes=7:int64 residual_bytes=8:int64 output_bytes=9:int64
    allocator_bytes_in_use=10:int64 output_memory=11:int32>Memory
message Tuple  int64_values=1:*int64
message Memory  bytes=1:int64 ptr=2:uint64

file core/profiler/tfprof_options package tensorflow.tfprof
message OptionsProto
    max_depth=1:int64 min_bytes=2:int64 min_peak_bytes=19:int64 min_residual_bytes=20:int64
    min_output_bytes=21:int64 min_micros=3:int64 min_accelerator_micros=22:int64
    min_cpu_micros=23:int64 min_params=4:int64 min_float_ops=5:int64 min_occurrence=17:int64
    step=18:int64 order_by=7:string account_type_regexes=8:*string
    start_name_regexes=9:*string trim_name_regexes=10:*string show_name_regexes=11:*string
    hide_name_regexes=12:*string account_displayed_op_only=13:bool select=14:*string
    output=15:string dump_to_file=16:string
message AdvisorOptionsProto  checkers=1:string>CheckerOption
message AdvisorOptionsProto.CheckerOption  options=1:string>string

file core/profiler/tfprof_output package tensorflow.tfprof
use  core/framework/tensor_shape core/framework/types
message TFProfTensorProto
    dtype=1:DataType value_double=2:*double value_int64=3:*int64 value_str=4:*string
message GraphNodeProto
    name=1:string tensor_value=15:TFProfTensorProto run_count=21:int64 exec_micros=2:int64
    accelerator_exec_micros=17:int64 cpu_exec_micros=18:int64 requested_bytes=3:int64
    peak_bytes=24:int64 residual_bytes=25:int64 output_bytes=26:int64 parameters=4:int64
    float_ops=13:int64 devices=10:*string total_definition_count=23:int64
    total_run_count=22:int64 total_exec_micros=6:int64 total_accelerator_exec_micros=19:int64
    total_cpu_exec_micros=20:int64 total_requested_bytes=7:int64 total_peak_bytes=27:int64
    total_residual_bytes=28:int64 total_output_bytes=29:int64 total_parameters=8:int64
    total_float_ops=14:int64 shapes=11:*TensorShapeProto
    input_shapes=16:int32>TensorShapeProto children=12:*GraphNodeProto
message MultiGraphNodeProto
    name=1:string exec_micros=2:int64 accelerator_exec_micros=12:int64
    cpu_exec_micros=13:int64 requested_bytes=3:int64 peak_bytes=16:int64
    residual_bytes=17:int64 output_bytes=18:int64 parameters=4:int64 float_ops=5:int64
    total_exec_micros=6:int64 total_accelerator_exec_micros=14:int64
    total_cpu_exec_micros=15:int64 total_requested_bytes=7:int64 total_peak_bytes=19:int64
    total_residual_bytes=20:int64 total_output_bytes=21:int64 total_parameters=8:int64
    total_float_ops=9:int64 graph_nodes=10:*GraphNodeProto children=11:*MultiGraphNodeProto
message AdviceProto  checkers=1:string>Checker
message AdviceProto.Checker  reports=2:*string

file core/profiler/profile package tensorflow.tfprof.pprof
message Profile
    sample_type=1:*ValueType sample=2:*Sample mapping=3:*Mapping location=4:*Location
    function=5:*Function string_table=6:*string drop_frames=7:int64 keep_frames=8:int64
    time_nanos=9:int64 duration_nanos=10:int64 period_type=11:ValueType period=12:int64
    comment=13:*int64 default_sample_type=14:int64
message ValueType  type=1:int64 unit=2:int64
message Sample  location_id=1:*uint64 value=2:*int64 label=3:*Label
message Label  key=1:int64 str=2:int64 num=3:int64
message Mapping
    id=1:uint64 memory_start=2:uint64 memory_limit=3:uint64 file_offset=4:uint64
    filename=5:int64 build_id=6:int64 has_functions=7:bool has_filenames=8:bool
    has_line_numbers=9:bool has_inline_frames=10:bool
message Location  id=1:uint64 mapping_id=2:uint64 address=3:uint64 line=4:*Line
message Line  function_id=1:uint64 line=2:int64
message Function
    id=1:uint64 name=2:int64 system_name=3:int64 filename=4:int64 start_line=5:int64

file core/profiler/op_profile package tensorflow.profiler.op_profile
message Profile  by_category=1:Node by_program=4:Node
message Node
    name=1:string metrics=2:Metrics children=3:*Node contents{ category=4:InstructionCategory
    xla=5:XLAInstruction } num_children=6:int32
message Node.InstructionCategory
message Node.XLAInstruction
    op=1:string expression=2:string provenance=3:string category=4:string
    layout=5:LayoutAnalysis
message Node.XLAInstruction.LayoutAnalysis  dimensions=1:*Dimension
message Node.XLAInstruction.LayoutAnalysis.Dimension
    size=1:int32 alignment=2:int32 semantics=3:string
message Metrics
    time=1:double flops=2:double memory_bandwidth=3:double raw_time=11:double
    raw_flops=12:double raw_bytes_accessed=13:double

file core/protobuf/trace_events package tensorflow.profiler
message Trace  devices=1:uint32>Device trace_events=4:*TraceEvent
message Device  name=1:string device_id=2:uint32 resources=3:uint32>Resource
message Resource  name=1:string resource_id=2:uint32
message TraceEvent
    device_id=1:uint32 resource_id=2:uint32 name=3:string timestamp_ps=9:uint64
    duration_ps=10:uint64 args=11:string>string

file core/profiler/profiler_service
use  core/framework/graph core/profiler/op_profile core/protobuf/config
message ProfileOptions  include_dataset_ops=1:bool
message ToolRequestOptions  output_formats=2:string save_to_repo=3:bool
message ProfileRequest
    duration_ms=1:uint64 max_events=2:uint64 tools=3:*string
    tool_options=8:string>ToolRequestOptions opts=4:ProfileOptions repository_root=5:string
    session_id=6:string host_name=7:string
message ProfileToolData  name=1:string data=2:bytes
message ProfileResponse
    computation_graph=2:*GraphDef hlo_metadata=5:RunMetadata encoded_trace=3:bytes
    op_profile=4:profiler.op_profile.Profile tool_data=6:*ProfileToolData empty_trace=7:bool
message MonitorRequest  duration_ms=1:uint64 monitoring_level=2:int32 timestamp=3:bool
message MonitorResponse  data=1:string

file core/profiler/profiler_analysis
use  core/profiler/profiler_service
message NewProfileSessionRequest
    request=1:ProfileRequest repository_root=2:string hosts=3:*string session_id=4:string
message NewProfileSessionResponse  error_message=1:string empty_trace=2:bool
message EnumProfileSessionsAndToolsRequest  repository_root=1:string
message ProfileSessionInfo  session_id=1:string available_tools=2:*string
message EnumProfileSessionsAndToolsResponse
    error_message=1:string sessions=2:*ProfileSessionInfo
message ProfileSessionDataRequest
    repository_root=1:string session_id=2:string host_name=5:string tool_name=3:string
    parameters=4:string>string
message ProfileSessionDataResponse  error_message=1:string output_format=2:string output=3:bytes
"""
