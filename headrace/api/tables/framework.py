"""Public names of the family: graphs, tensors, types, scopes."""

NAMES: dict[str, str] = {
    "headrace.version": (
        "version=. VERSION GIT_VERSION COMPILER_VERSION GRAPH_DEF_VERSION "
        "GRAPH_DEF_VERSION_MIN_CONSUMER GRAPH_DEF_VERSION_MIN_PRODUCER"
    ),
    "headrace.graph.node": "Operation=Node",
    "headrace.graph.tensor": "TensorShape=Shape Tensor",
    "headrace.graph.keys": "GraphKeys",
    "headrace.graph.defaults": "reset_default_graph get_default_session",
    "headrace.functions.platform.scopes": (
        "Graph get_default_graph name_scope op_scope device control_dependencies colocate_with "
        "container add_to_collection add_to_collections get_collection get_collection_ref is_tensor"
    ),
    "headrace.functions.control.init_scope": "init_scope",
    "headrace.api.raw_ops": "raw_ops=. registered_ops",
    "headrace.functions.io.graph_tools": (
        "graph_util.convert_variables_to_constants graph_util.extract_sub_graph "
        "graph_util.must_run_on_cpu graph_util.remove_training_nodes "
        "graph_util.tensor_shape_from_node_def_name"
    ),
    "headrace.functions.io.graph_files": "{io,train}.write_graph",
    "headrace.train.meta_graph.meta_graph": "train.export_meta_graph train.import_meta_graph",
    "headrace.ops.graphdef.importer": "{,graph_util.}import_graph_def",
    "headrace.formats.proto": (
        "AttrValue ConfigProto {,summary.}Event GPUOptions GraphDef GraphOptions HistogramProto "
        "LogMessage MetaGraphDef NameAttrList NodeDef OptimizerOptions RunMetadata RunOptions "
        "{,summary.}SessionLog {,summary.}Summary SummaryMetadata TensorInfo "
        "summary.SummaryDescription summary.TaggedRunMetadata train.BytesList train.ClusterDef "
        "train.Example train.Feature train.FeatureList train.FeatureLists train.Features "
        "train.FloatList train.Int64List train.JobDef train.SaverDef train.SequenceExample "
        "train.ServerDef profiler.AdviceProto profiler.GraphNodeProto "
        "profiler.MultiGraphNodeProto profiler.OpLogProto"
    ),
    "headrace.core.shapes": "Dimension",
    "headrace.core.device_name": "DeviceSpec",
    "headrace.core.errors": "errors=. OpError",
    "headrace.core.dtypes": (
        "{,dtypes.}DType {,dtypes.}as_dtype {,dtypes.}float32 {,dtypes.}float64 {,dtypes.}int32 "
        "{,dtypes.}uint8 {,dtypes.}int16 {,dtypes.}int8 {,dtypes.}string {,dtypes.}complex64 "
        "{,dtypes.}int64 {,dtypes.}bool=bool_ {,dtypes.}qint8 {,dtypes.}quint8 {,dtypes.}qint32 "
        "{,dtypes.}bfloat16 {,dtypes.}qint16 {,dtypes.}quint16 {,dtypes.}uint16 {,dtypes.}complex128 "
        "{,dtypes.}float16 {,dtypes.}resource {,dtypes.}variant {,dtypes.}uint32 {,dtypes.}uint64 "
        "{,dtypes.}half {,dtypes.}double {,dtypes.}QUANTIZED_DTYPES"
    ),
    "headrace.functions.values.conversion": "convert_to_tensor",
    "headrace.ops.declaration.convert": "register_tensor_conversion_function",
    "headrace.ops.array.constant": "constant",
}
