"""The master, worker and eager services.

The notation is described in notation.py."""

TABLE = """
file core/protobuf/named_tensor
use  core/framework/tensor
message NamedTensorProto  name=1:string tensor=2:TensorProto

file core/protobuf/transport_options
message RecvBufRespExtra  tensor_content=1:*bytes

file core/protobuf/master
use
    core/framework/device_attributes core/framework/graph core/framework/tensor
    core/lib/core/error_codes core/protobuf/config core/protobuf/named_tensor
message CreateSessionRequest  graph_def=1:GraphDef config=2:ConfigProto target=3:string
message CreateSessionResponse  session_handle=1:string graph_version=2:int64
message ExtendSessionRequest
    session_handle=1:string graph_def=2:GraphDef current_graph_version=3:int64
message ExtendSessionResponse  new_graph_version=4:int64
message RunStepRequest
    session_handle=1:string feed=2:*NamedTensorProto fetch=3:*string target=4:*string
    options=5:RunOptions partial_run_handle=6:string store_errors_in_response_body=7:bool
    request_id=8:int64
message RunStepResponse
    tensor=1:*NamedTensorProto metadata=2:RunMetadata status_code=3:error.Code
    status_error_message=4:string
message PartialRunSetupRequest
    session_handle=1:string feed=2:*string fetch=3:*string target=4:*string request_id=5:int64
message PartialRunSetupResponse  partial_run_handle=1:string
message CloseSessionRequest  session_handle=1:string
message CloseSessionResponse
message ResetRequest  container=1:*string device_filters=2:*string
message ResetResponse
message ListDevicesRequest  session_handle=1:string
message ListDevicesResponse  local_device=1:*DeviceAttributes remote_device=2:*DeviceAttributes
message MakeCallableRequest
    session_handle=1:string options=2:CallableOptions request_id=3:int64
message MakeCallableResponse  handle=1:int64
message RunCallableRequest
    session_handle=1:string handle=2:int64 feed=3:*TensorProto request_id=4:int64
message RunCallableResponse  fetch=1:*TensorProto metadata=2:RunMetadata
message ReleaseCallableRequest  session_handle=1:string handle=2:int64
message ReleaseCallableResponse

file core/protobuf/worker
use
    google/protobuf/any core/framework/cost_graph core/framework/device_attributes
    core/framework/graph core/framework/step_stats core/framework/tensor
    core/framework/tensor_shape core/framework/types core/lib/core/error_codes
    core/protobuf/config core/protobuf/debug core/protobuf/named_tensor
    core/protobuf/tensorflow_server
message GetStatusRequest
message GetStatusResponse  device_attributes=1:*DeviceAttributes
message CreateWorkerSessionRequest
    session_handle=1:string server_def=2:ServerDef isolate_session_state=3:bool
    cluster_device_attributes=4:*DeviceAttributes
message CreateWorkerSessionResponse
message DeleteWorkerSessionRequest  session_handle=1:string
message DeleteWorkerSessionResponse
message RegisterGraphRequest
    session_handle=1:string create_worker_session_called=6:bool graph_def=2:GraphDef
    has_control_flow=3:bool graph_options=4:GraphOptions debug_options=5:DebugOptions
    collective_graph_key=7:int64
message RegisterGraphResponse  graph_handle=1:string
message DeregisterGraphRequest
    session_handle=2:string create_worker_session_called=3:bool graph_handle=1:string
message DeregisterGraphResponse
message CleanupAllRequest  container=1:*string
message CleanupAllResponse
message ExecutorOpts
    record_costs=1:bool record_timeline=3:bool record_partition_graphs=4:bool
    report_tensor_allocations_upon_oom=5:bool
message RunGraphRequest
    session_handle=8:string create_worker_session_called=10:bool graph_handle=1:string
    step_id=2:int64 exec_opts=5:ExecutorOpts send=3:*NamedTensorProto recv_key=4:*string
    is_partial=6:bool is_last_partial_run=7:bool store_errors_in_response_body=9:bool
    request_id=11:int64
message RunGraphResponse
    recv=1:*NamedTensorProto step_stats=2:StepStats cost_graph=3:CostGraphDef
    partition_graph=4:*GraphDef status_code=5:error.Code status_error_message=6:string
message CleanupGraphRequest  step_id=1:int64
message CleanupGraphResponse
message RecvTensorRequest
    step_id=1:int64 rendezvous_key=2:string dma_ok=3:bool client_locality=4:DeviceLocality
    server_locality=5:DeviceLocality transport_options=6:google.protobuf.Any
    request_id=7:int64
message RecvTensorResponse
    tensor=1:TensorProto is_dead=2:bool send_start_micros=3:int64
    transport_options=4:google.protobuf.Any require_ack=5:bool
message MarkRecvFinishedRequest  request_id=1:int64
message MarkRecvFinishedResponse
message LoggingRequest
    enable_rpc_logging=1:bool disable_rpc_logging=4:bool clear=2:bool fetch_step_id=3:*int64
message LabeledStepStats  step_id=1:int64 step_stats=2:StepStats
message LoggingResponse  step=1:*LabeledStepStats
message TraceOpts
    duration=1:double use_step_profiler=2:bool use_kernel_profiler=3:bool
    use_extended_profiler=4:bool use_gpu_profiler=5:bool use_sample_profiler=6:bool
message TracingRequest  options=1:TraceOpts
message TracingResponse
message RecvBufRequest
    step_id=1:int64 buf_rendezvous_key=2:string num_bytes=3:int64 buf_ptr=4:fixed64
    client_locality=5:DeviceLocality server_locality=6:DeviceLocality
    transport_options=7:google.protobuf.Any src_device=8:string dst_device=9:string
    request_id=10:int64 src_incarnation=11:uint64
message RecvBufResponse
    buf_ptr=1:fixed64 num_bytes=2:int64 is_dead=3:bool transport_options=4:google.protobuf.Any
    send_start_micros=5:int64 require_ack=6:bool
message CompleteGroupRequest
    group_key=1:int32 group_size=2:int32 device_type=3:string device_name=4:*string
    collective_type=5:int32 device_attributes=6:DeviceAttributes
message CompleteGroupResponse
    group_key=1:int32 group_size=2:int32 device_type=3:string num_tasks=4:int32
    device_name=5:*string task_name=6:*string communicator_key=7:bytes
    device_attributes=8:*DeviceAttributes
message CompleteInstanceRequest
    name=1:string type=2:int32 data_type=3:DataType shape=4:TensorShapeProto group_key=5:int32
    group_size=6:int32 instance_key=7:int32 device_type=8:string subdiv_offset=9:*int32
    device=10:string is_source=11:bool
message CompleteInstanceResponse  instance_key=1:int32 source_rank=2:int32
message GetStepSequenceRequest  graph_key=1:*int64
message StepSequence  graph_key=1:int64 next_step_id=2:int64
message GetStepSequenceResponse  step_sequence=1:*StepSequence

file core/protobuf/replay_log
use  core/protobuf/master
message NewReplaySession  devices=1:ListDevicesResponse session_handle=2:string
message ReplayOp
    start_time_us=31:double end_time_us=32:double op{ create_session=1:CreateSessionRequest
    extend_session=2:ExtendSessionRequest partial_run_setup=3:PartialRunSetupRequest
    run_step=4:RunStepRequest close_session=5:CloseSessionRequest
    list_devices=6:ListDevicesRequest reset_request=7:ResetRequest
    make_callable=8:MakeCallableRequest run_callable=9:RunCallableRequest
    release_callable=10:ReleaseCallableRequest new_replay_session=11:NewReplaySession }
    response{ create_session_response=21:CreateSessionResponse
    extend_session_response=22:ExtendSessionResponse
    partial_run_setup_response=23:PartialRunSetupResponse run_step_response=24:RunStepResponse
    close_session_response=25:CloseSessionResponse
    list_devices_response=26:ListDevicesResponse reset_request_response=27:ResetResponse
    make_callable_response=28:MakeCallableResponse
    run_callable_response=29:RunCallableResponse
    release_callable_response=30:ReleaseCallableResponse }

file core/protobuf/eager_service package tensorflow.eager
use
    core/framework/attr_value core/framework/device_attributes core/framework/function
    core/framework/tensor core/framework/tensor_shape core/framework/types
    core/framework/versions core/protobuf/tensorflow_server
message RemoteTensorHandle
    op_id=1:int64 output_num=2:int32 device=3:string op_device=4:string dtype=5:DataType
message Operation
    id=1:int64 name=2:string inputs=3:*RemoteTensorHandle control_op_ids=4:*int64
    attrs=5:string>AttrValue device=6:string
message QueueItem
    item{ handle_to_decref=1:RemoteTensorHandle operation=2:Operation
    send_tensor=3:SendTensorOp }
message QueueResponse  shape=1:*TensorShapeProto
message CreateContextRequest
    server_def=1:ServerDef async=2:bool keep_alive_secs=3:int64 version_def=4:VersionDef
    cluster_device_attributes=6:*DeviceAttributes context_id=7:fixed64
message CreateContextResponse  device_attributes=2:*DeviceAttributes
message EnqueueRequest  context_id=1:fixed64 queue=3:*QueueItem
message EnqueueResponse  queue_response=1:*QueueResponse
message WaitQueueDoneRequest  context_id=1:fixed64 op_id=2:*int64
message WaitQueueDoneResponse
message KeepAliveRequest  context_id=1:fixed64
message KeepAliveResponse
message CloseContextRequest  context_id=1:fixed64
message CloseContextResponse
message RegisterFunctionRequest  context_id=1:fixed64 function_def=2:FunctionDef
message RegisterFunctionResponse
message SendTensorOp  op_id=1:int64 tensors=2:*TensorProto device_name=3:string
message SendTensorRequest
    context_id=1:fixed64 op_id=2:int64 tensors=3:*TensorProto device_name=4:string
message SendTensorResponse
"""
