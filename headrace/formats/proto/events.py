"""Event files: summaries, log entries, session marks.

The notation is described in notation.py."""

TABLE = """
file core/framework/summary
use  core/framework/tensor
message SummaryDescription  type_hint=1:string
message HistogramProto
    min=1:double max=2:double num=3:double sum=4:double sum_squares=5:double
    bucket_limit=6:*double bucket=7:*double
message SummaryMetadata
    plugin_data=1:PluginData display_name=2:string summary_description=3:string
message SummaryMetadata.PluginData  plugin_name=1:string content=2:bytes
message Summary  value=1:*Value
message Summary.Image
    height=1:int32 width=2:int32 colorspace=3:int32 encoded_image_string=4:bytes
message Summary.Audio
    sample_rate=1:float num_channels=2:int64 length_frames=3:int64
    encoded_audio_string=4:bytes content_type=5:string
message Summary.Value
    node_name=7:string tag=1:string metadata=9:SummaryMetadata value{ simple_value=2:float
    obsolete_old_style_histogram=3:bytes image=4:Image histo=5:HistogramProto audio=6:Audio
    tensor=8:TensorProto }

file core/util/event
use  core/framework/summary
enum WorkerHealth  OK=0 RECEIVED_SHUTDOWN_SIGNAL=1 INTERNAL_ERROR=2 SHUTTING_DOWN=3
enum WorkerShutdownMode
    DEFAULT=0 NOT_CONFIGURED=1 WAIT_FOR_COORDINATOR=2 SHUTDOWN_AFTER_TIMEOUT=3
message Event
    wall_time=1:double step=2:int64 what{ file_version=3:string graph_def=4:bytes
    summary=5:Summary log_message=6:LogMessage session_log=7:SessionLog
    tagged_run_metadata=8:TaggedRunMetadata meta_graph_def=9:bytes }
message LogMessage  level=1:Level message=2:string
enum LogMessage.Level  UNKNOWN=0 DEBUGGING=10 INFO=20 WARN=30 ERROR=40 FATAL=50
message SessionLog  status=1:SessionStatus checkpoint_path=2:string msg=3:string
enum SessionLog.SessionStatus  STATUS_UNSPECIFIED=0 START=1 STOP=2 CHECKPOINT=3
message TaggedRunMetadata  tag=1:string run_metadata=2:bytes
message WatchdogConfig  timeout_ms=1:int64
message WorkerHeartbeatRequest
    shutdown_mode=1:WorkerShutdownMode watchdog_config=2:WatchdogConfig
message WorkerHeartbeatResponse
    health_status=1:WorkerHealth worker_log=2:*Event hostname=3:string
"""
