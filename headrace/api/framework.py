"""Public names of the family: graphs, tensors, types, scopes."""

NAMES: dict[str, str] = {
    "headrace.graph.graph": "Graph GRAPH_DEF_VERSION GRAPH_DEF_VERSION_MIN_CONSUMER GRAPH_DEF_VERSION_MIN_PRODUCER",
    "headrace.graph.node": "Operation=Node",
    "headrace.graph.tensor": "Tensor",
    "headrace.graph.keys": "GraphKeys",
    "headrace.graph.defaults": "get_default_graph reset_default_graph get_default_session",
    "headrace.core.shapes": "TensorShape=Shape Dimension",
    "headrace.core.device_name": "DeviceSpec",
    "headrace.core.errors": "errors=.",
    "headrace.core.dtypes": (
        "{,dtypes.}DType {,dtypes.}as_dtype {,dtypes.}float32 {,dtypes.}float64 {,dtypes.}int32 "
        "{,dtypes.}uint8 {,dtypes.}int16 {,dtypes.}int8 {,dtypes.}string {,dtypes.}complex64 "
        "{,dtypes.}int64 {,dtypes.}bool=bool_ {,dtypes.}qint8 {,dtypes.}quint8 {,dtypes.}qint32 "
        "{,dtypes.}bfloat16 {,dtypes.}qint16 {,dtypes.}quint16 {,dtypes.}uint16 {,dtypes.}complex128 "
        "{,dtypes.}float16 {,dtypes.}resource {,dtypes.}variant {,dtypes.}uint32 {,dtypes.}uint64 "
        "{,dtypes.}half {,dtypes.}double"
    ),
    "headrace.ops.convert": "convert_to_tensor register_tensor_conversion_function",
    "headrace.ops.constant": "constant",
}
