"""Graphs and what they hold: types, shapes, tensors, attributes, nodes, functions, op definitions.

The notation is described in notation.py."""

TABLE = """
file core/framework/types
enum DataType
    DT_INVALID=0 DT_FLOAT=1 DT_DOUBLE=2 DT_INT32=3 DT_UINT8=4 DT_INT16=5 DT_INT8=6 DT_STRING=7
    DT_COMPLEX64=8 DT_INT64=9 DT_BOOL=10 DT_QINT8=11 DT_QUINT8=12 DT_QINT32=13 DT_BFLOAT16=14
    DT_QINT16=15 DT_QUINT16=16 DT_UINT16=17 DT_COMPLEX128=18 DT_HALF=19 DT_RESOURCE=20
    DT_VARIANT=21 DT_UINT32=22 DT_UINT64=23 DT_FLOAT_REF=101 DT_DOUBLE_REF=102
    DT_INT32_REF=103 DT_UINT8_REF=104 DT_INT16_REF=105 DT_INT8_REF=106 DT_STRING_REF=107
    DT_COMPLEX64_REF=108 DT_INT64_REF=109 DT_BOOL_REF=110 DT_QINT8_REF=111 DT_QUINT8_REF=112
    DT_QINT32_REF=113 DT_BFLOAT16_REF=114 DT_QINT16_REF=115 DT_QUINT16_REF=116
    DT_UINT16_REF=117 DT_COMPLEX128_REF=118 DT_HALF_REF=119 DT_RESOURCE_REF=120
    DT_VARIANT_REF=121 DT_UINT32_REF=122 DT_UINT64_REF=123

file core/framework/tensor_shape
message TensorShapeProto  dim=2:*Dim unknown_rank=3:bool
message TensorShapeProto.Dim  size=1:int64 name=2:string

file core/framework/tensor_slice
message TensorSliceProto  extent=1:*Extent
message TensorSliceProto.Extent  start=1:int64 has_length{ length=2:int64 }

file core/framework/resource_handle
use  core/framework/tensor_shape core/framework/types
message ResourceHandleProto
    device=1:string container=2:string name=3:string hash_code=4:uint64
    maybe_type_name=5:string dtypes_and_shapes=6:*DtypeAndShape
message ResourceHandleProto.DtypeAndShape  dtype=1:DataType shape=2:TensorShapeProto

file core/framework/tensor
use  core/framework/resource_handle core/framework/tensor_shape core/framework/types
message TensorProto
    dtype=1:DataType tensor_shape=2:TensorShapeProto version_number=3:int32
    tensor_content=4:bytes half_val=13:*int32 float_val=5:*float double_val=6:*double
    int_val=7:*int32 string_val=8:*bytes scomplex_val=9:*float int64_val=10:*int64
    bool_val=11:*bool dcomplex_val=12:*double resource_handle_val=14:*ResourceHandleProto
    variant_val=15:*VariantTensorDataProto uint32_val=16:*uint32 uint64_val=17:*uint64
message VariantTensorDataProto  type_name=1:string metadata=2:bytes tensors=3:*TensorProto

file core/framework/versions
message VersionDef  producer=1:int32 min_consumer=2:int32 bad_consumers=3:*int32

file core/framework/attr_value
use  core/framework/tensor core/framework/tensor_shape core/framework/types
message AttrValue
    value{ s=2:bytes i=3:int64 f=4:float b=5:bool type=6:DataType shape=7:TensorShapeProto
    tensor=8:TensorProto list=1:ListValue func=10:NameAttrList placeholder=9:string }
message AttrValue.ListValue
    s=2:*bytes i=3:*int64 f=4:*float b=5:*bool type=6:*DataType shape=7:*TensorShapeProto
    tensor=8:*TensorProto func=9:*NameAttrList
message NameAttrList  name=1:string attr=2:string>AttrValue

file core/framework/full_type
enum FullTypeId
    TFT_UNSET=0 TFT_VAR=1 TFT_ANY=2 TFT_PRODUCT=3 TFT_NAMED=4 TFT_FOR_EACH=20 TFT_CALLABLE=100
    TFT_TENSOR=1000 TFT_ARRAY=1001 TFT_OPTIONAL=1002 TFT_LITERAL=1003 TFT_ENCODED=1004
    TFT_SHAPE_TENSOR=1005 TFT_BOOL=200 TFT_UINT8=201 TFT_UINT16=202 TFT_UINT32=203
    TFT_UINT64=204 TFT_INT8=205 TFT_INT16=206 TFT_INT32=207 TFT_INT64=208 TFT_HALF=209
    TFT_FLOAT=210 TFT_DOUBLE=211 TFT_BFLOAT16=215 TFT_COMPLEX64=212 TFT_COMPLEX128=213
    TFT_STRING=214 TFT_DATASET=10102 TFT_RAGGED=10103 TFT_ITERATOR=10104 TFT_MUTEX_LOCK=10202
    TFT_LEGACY_VARIANT=10203
message FullTypeDef  type_id=1:FullTypeId args=2:*FullTypeDef attr{ s=3:string i=4:int64 }

file core/framework/node_def
use  core/framework/attr_value core/framework/full_type
message NodeDef
    name=1:string op=2:string input=3:*string device=4:string attr=5:string>AttrValue
    experimental_debug_info=6:ExperimentalDebugInfo experimental_type=7:FullTypeDef
message NodeDef.ExperimentalDebugInfo
    original_node_names=1:*string original_func_names=2:*string

file core/framework/op_def
use
    core/framework/attr_value core/framework/full_type core/framework/resource_handle
    core/framework/types
message OpDef
    name=1:string input_arg=2:*ArgDef output_arg=3:*ArgDef control_output=20:*string
    attr=4:*AttrDef deprecation=8:OpDeprecation summary=5:string description=6:string
    is_commutative=18:bool is_aggregate=16:bool is_stateful=17:bool
    allows_uninitialized_input=19:bool is_distributed_communication=21:bool
message OpDef.ArgDef
    name=1:string description=2:string type=3:DataType type_attr=4:string number_attr=5:string
    type_list_attr=6:string is_ref=16:bool handle_data=7:*ResourceHandleProto.DtypeAndShape
    experimental_full_type=17:FullTypeDef
message OpDef.AttrDef
    name=1:string type=2:string default_value=3:AttrValue description=4:string
    has_minimum=5:bool minimum=6:int64 allowed_values=7:AttrValue
message OpDeprecation  version=1:int32 explanation=2:string
message OpList  op=1:*OpDef

file core/framework/function
use  core/framework/attr_value core/framework/node_def core/framework/op_def
message FunctionDefLibrary
    function=1:*FunctionDef gradient=2:*GradientDef registered_gradients=3:*RegisteredGradient
message FunctionDef
    signature=1:OpDef attr=5:string>AttrValue arg_attr=7:uint32>ArgAttrs node_def=3:*NodeDef
    ret=4:string>string control_ret=6:string>string resource_arg_unique_id=8:uint32>uint32
message FunctionDef.ArgAttrs  attr=1:string>AttrValue
message GradientDef  function_name=1:string gradient_func=2:string
message RegisteredGradient  gradient_func=1:string registered_op_type=2:string

file core/protobuf/graph_debug_info
message GraphDebugInfo
    files=1:*string traces=2:string>StackTrace frames_by_id=4:fixed64>FileLineCol
    traces_by_id=6:fixed64>StackTrace name_to_trace_id=5:string>fixed64
message GraphDebugInfo.FileLineCol
    file_index=1:int32 line=2:int32 col=3:int32 func=4:string code=5:string
message GraphDebugInfo.StackTrace  file_line_cols=1:*FileLineCol frame_id=2:*fixed64

file core/framework/graph
use
    core/framework/node_def core/framework/function core/framework/versions
    core/protobuf/graph_debug_info
message GraphDef
    node=1:*NodeDef versions=4:VersionDef version=3:int32 library=2:FunctionDefLibrary
    debug_info=5:GraphDebugInfo

file core/framework/variable
enum VariableSynchronization
    VARIABLE_SYNCHRONIZATION_AUTO=0 VARIABLE_SYNCHRONIZATION_NONE=1
    VARIABLE_SYNCHRONIZATION_ON_WRITE=2 VARIABLE_SYNCHRONIZATION_ON_READ=3
enum VariableAggregation
    VARIABLE_AGGREGATION_NONE=0 VARIABLE_AGGREGATION_SUM=1 VARIABLE_AGGREGATION_MEAN=2
    VARIABLE_AGGREGATION_ONLY_FIRST_REPLICA=3
message VariableDef
    variable_name=1:string initial_value_name=6:string initializer_name=2:string
    snapshot_name=3:string save_slice_info_def=4:SaveSliceInfoDef is_resource=5:bool
    trainable=7:bool synchronization=8:VariableSynchronization
    aggregation=9:VariableAggregation
message SaveSliceInfoDef
    full_name=1:string full_shape=2:*int64 var_offset=3:*int64 var_shape=4:*int64

file core/framework/kernel_def
use  core/framework/attr_value
message KernelDef
    op=1:string device_type=2:string constraint=3:*AttrConstraint host_memory_arg=4:*string
    label=5:string priority=6:int32
message KernelDef.AttrConstraint  name=1:string allowed_values=2:AttrValue
message KernelList  kernel=1:*KernelDef

file core/framework/device_attributes
message InterconnectLink  device_id=1:int32 type=2:string strength=3:int32
message LocalLinks  link=1:*InterconnectLink
message DeviceLocality  bus_id=1:int32 numa_node=2:int32 links=3:LocalLinks
message DeviceAttributes
    name=1:string device_type=2:string memory_limit=4:int64 locality=5:DeviceLocality
    incarnation=6:fixed64 physical_device_desc=7:string

file core/framework/reader_base
message ReaderBaseState
    work_started=1:int64 work_finished=2:int64 num_records_produced=3:int64
    current_work=4:bytes

file core/framework/api_def
use  core/framework/attr_value
message ApiDef
    graph_op_name=1:string deprecation_message=12:string deprecation_version=13:int32
    visibility=2:Visibility endpoint=3:*Endpoint in_arg=4:*Arg out_arg=5:*Arg
    arg_order=11:*string attr=6:*Attr summary=7:string description=8:string
    description_prefix=9:string description_suffix=10:string
enum ApiDef.Visibility  DEFAULT_VISIBILITY=0 VISIBLE=1 SKIP=2 HIDDEN=3
message ApiDef.Endpoint  name=1:string deprecated=3:bool deprecation_version=4:int32
message ApiDef.Arg  name=1:string rename_to=2:string description=3:string
message ApiDef.Attr
    name=1:string rename_to=2:string default_value=3:AttrValue description=4:string
message ApiDefs  op=1:*ApiDef
"""
