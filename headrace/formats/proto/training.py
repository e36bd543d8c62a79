"""What training graphs keep in collections and beside checkpoints.

The notation is described in notation.py."""

TABLE = """
file core/lib/core/error_codes package tensorflow.error
enum Code
    OK=0 CANCELLED=1 UNKNOWN=2 INVALID_ARGUMENT=3 DEADLINE_EXCEEDED=4 NOT_FOUND=5
    ALREADY_EXISTS=6 PERMISSION_DENIED=7 UNAUTHENTICATED=16 RESOURCE_EXHAUSTED=8
    FAILED_PRECONDITION=9 ABORTED=10 OUT_OF_RANGE=11 UNIMPLEMENTED=12 INTERNAL=13
    UNAVAILABLE=14 DATA_LOSS=15
    DO_NOT_USE_RESERVED_FOR_FUTURE_EXPANSION_USE_DEFAULT_IN_SWITCH_INSTEAD_=20

file core/protobuf/saver
message SaverDef
    filename_tensor_name=1:string save_tensor_name=2:string restore_op_name=3:string
    max_to_keep=4:int32 sharded=5:bool keep_checkpoint_every_n_hours=6:float
    version=7:CheckpointFormatVersion
enum SaverDef.CheckpointFormatVersion  LEGACY=0 V1=1 V2=2

file core/protobuf/queue_runner
use  core/lib/core/error_codes
message QueueRunnerDef
    queue_name=1:string enqueue_op_name=2:*string close_op_name=3:string
    cancel_op_name=4:string queue_closed_exception_types=5:*error.Code

file core/protobuf/control_flow
message ValuesDef  values=1:*string external_values=2:string>string
message ControlFlowContextDef  ctxt{ cond_ctxt=1:CondContextDef while_ctxt=2:WhileContextDef }
message CondContextDef
    context_name=1:string pred_name=2:string pivot_name=3:string branch=4:int32
    values_def=5:ValuesDef nested_contexts=6:*ControlFlowContextDef
message WhileContextDef
    context_name=1:string parallel_iterations=2:int32 back_prop=3:bool swap_memory=4:bool
    pivot_name=5:string pivot_for_pred_name=6:string pivot_for_body_name=7:string
    loop_exit_names=8:*string loop_enter_names=10:*string values_def=9:ValuesDef
    maximum_iterations_name=11:string nested_contexts=12:*ControlFlowContextDef

file core/protobuf/critical_section
message CriticalSectionDef  critical_section_name=1:string
message CriticalSectionExecutionDef
    execute_in_critical_section_name=1:string exclusive_resource_access=2:bool

file python/training/checkpoint_state
message CheckpointState
    model_checkpoint_path=1:string all_model_checkpoint_paths=2:*string
    all_model_checkpoint_timestamps=3:*double last_preserved_timestamp=4:double
"""
