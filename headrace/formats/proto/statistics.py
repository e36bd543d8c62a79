"""What a step cost: times, memory, allocations, cost models.

The notation is described in notation.py."""

TABLE = """
file core/framework/allocation_description
message AllocationDescription
    requested_bytes=1:int64 allocated_bytes=2:int64 allocator_name=3:string
    allocation_id=4:int64 has_single_reference=5:bool ptr=6:uint64

file core/framework/tensor_description
use  core/framework/types core/framework/tensor_shape core/framework/allocation_description
message TensorDescription
    dtype=1:DataType shape=2:TensorShapeProto allocation_description=4:AllocationDescription

file core/framework/step_stats
use  core/framework/allocation_description core/framework/tensor_description
message AllocationRecord  alloc_micros=1:int64 alloc_bytes=2:int64
message AllocatorMemoryUsed
    allocator_name=1:string total_bytes=2:int64 peak_bytes=3:int64 live_bytes=4:int64
    allocation_records=6:*AllocationRecord allocator_bytes_in_use=5:int64
message NodeOutput  slot=1:int32 tensor_description=3:TensorDescription
message MemoryStats
    temp_memory_size=1:int64 persistent_memory_size=3:int64
    persistent_tensor_alloc_ids=5:*int64 device_temp_memory_size=2:int64
    device_persistent_memory_size=4:int64 device_persistent_tensor_alloc_ids=6:*int64
message NodeExecStats
    node_name=1:string all_start_micros=2:int64 op_start_rel_micros=3:int64
    op_end_rel_micros=4:int64 all_end_rel_micros=5:int64 memory=6:*AllocatorMemoryUsed
    output=7:*NodeOutput timeline_label=8:string scheduled_micros=9:int64 thread_id=10:uint32
    referenced_tensor=11:*AllocationDescription memory_stats=12:MemoryStats
    all_start_nanos=13:int64 op_start_rel_nanos=14:int64 op_end_rel_nanos=15:int64
    all_end_rel_nanos=16:int64 scheduled_nanos=17:int64
message DeviceStepStats
    device=1:string node_stats=2:*NodeExecStats thread_names=3:uint32>string
message StepStats  dev_stats=1:*DeviceStepStats

file core/framework/cost_graph
use  core/framework/tensor_shape core/framework/types
message CostGraphDef  node=1:*Node
message CostGraphDef.Node
    name=1:string device=2:string id=3:int32 input_info=4:*InputInfo output_info=5:*OutputInfo
    temporary_memory_size=6:int64 persistent_memory_size=12:int64
    host_temp_memory_size=10:int64 device_temp_memory_size=11:int64
    device_persistent_memory_size=16:int64 compute_cost=9:int64 compute_time=14:int64
    memory_time=15:int64 is_final=7:bool control_input=8:*int32 inaccurate=17:bool
message CostGraphDef.Node.InputInfo  preceding_node=1:int32 preceding_port=2:int32
message CostGraphDef.Node.OutputInfo
    size=1:int64 alias_input_port=2:int64 shape=3:TensorShapeProto dtype=4:DataType

file core/framework/log_memory
use  core/framework/tensor_description
message MemoryLogStep  step_id=1:int64 handle=2:string
message MemoryLogTensorAllocation
    step_id=1:int64 kernel_name=2:string tensor=3:TensorDescription
message MemoryLogTensorDeallocation  allocation_id=1:int64 allocator_name=2:string
message MemoryLogTensorOutput
    step_id=1:int64 kernel_name=2:string index=3:int32 tensor=4:TensorDescription
message MemoryLogRawAllocation
    step_id=1:int64 operation=2:string num_bytes=3:int64 ptr=4:uint64 allocation_id=5:int64
    allocator_name=6:string
message MemoryLogRawDeallocation
    step_id=1:int64 operation=2:string allocation_id=3:int64 allocator_name=4:string
    deferred=5:bool

file core/protobuf/device_properties
message DeviceProperties
    type=1:string vendor=2:string model=3:string frequency=4:int64 num_cores=5:int64
    environment=6:string>string num_registers=7:int64 l1_cache_size=8:int64
    l2_cache_size=9:int64 l3_cache_size=10:int64
    shared_memory_size_per_multiprocessor=11:int64 memory_size=12:int64 bandwidth=13:int64
message NamedDevice  name=1:string properties=2:DeviceProperties

file core/grappler/costs/op_performance_data
use
    core/framework/tensor core/framework/tensor_shape core/framework/types
    core/framework/attr_value core/protobuf/device_properties
message SessionInfo  intra_op_parallelism=1:int64
message OpInfo
    op=1:string attr=2:string>AttrValue inputs=3:*TensorProperties outputs=5:*TensorProperties
    device=4:DeviceProperties session_info=6:SessionInfo
message OpInfo.TensorProperties  dtype=1:DataType shape=2:TensorShapeProto value=3:TensorProto
message NormalDistribution  mu=1:double sigma=2:double
message LogNormalDistribution  mu=1:double sigma=2:double
message OpPerformance
    op=1:OpInfo session_info=12:SessionInfo node=5:string temporary_memory_size=2:int64
    compute_cost=3:int64 compute_time=6:int64 memory_time=7:int64 compute_efficiency=4:double
    memory_efficiency=8:double execution_time{ execution_time_normal=10:NormalDistribution
    execution_time_log_normal=11:LogNormalDistribution } op_memory=9:OpMemory
message OpPerformance.OpMemory
    output_memory=1:*int64 temp_memory=2:int64 persistent_memory=4:int64
    device_temp_memory=3:int64 device_persistent_memory=5:int64
message OpPerformanceList  op_performance=1:*OpPerformance
"""
