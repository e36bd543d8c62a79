"""Meta graphs, saved models, object graphs and checkpoint indices.

The notation is described in notation.py."""

TABLE = """
file core/protobuf/struct
use  core/framework/tensor core/framework/tensor_shape core/framework/types
message StructuredValue
    kind{ none_value=1:NoneValue float64_value=11:double int64_value=12:sint64
    string_value=13:string bool_value=14:bool tensor_shape_value=31:TensorShapeProto
    tensor_dtype_value=32:DataType tensor_spec_value=33:TensorSpecProto
    type_spec_value=34:TypeSpecProto list_value=51:ListValue tuple_value=52:TupleValue
    dict_value=53:DictValue named_tuple_value=54:NamedTupleValue
    bounded_tensor_spec_value=35:BoundedTensorSpecProto tensor_value=55:TensorProto
    numpy_value=56:TensorProto }
message NoneValue
message ListValue  values=1:*StructuredValue
message TupleValue  values=1:*StructuredValue
message DictValue  fields=1:string>StructuredValue
message PairValue  key=1:string value=2:StructuredValue
message NamedTupleValue  name=1:string values=2:*PairValue
message TensorSpecProto  name=1:string shape=2:TensorShapeProto dtype=3:DataType
message BoundedTensorSpecProto
    name=1:string shape=2:TensorShapeProto dtype=3:DataType minimum=4:TensorProto
    maximum=5:TensorProto
message TypeSpecProto
    type_spec_class=1:TypeSpecClass type_state=2:StructuredValue type_spec_class_name=3:string
    num_flat_components=4:int32
enum TypeSpecProto.TypeSpecClass
    UNKNOWN=0 SPARSE_TENSOR_SPEC=1 INDEXED_SLICES_SPEC=2 RAGGED_TENSOR_SPEC=3
    TENSOR_ARRAY_SPEC=4 DATA_DATASET_SPEC=5 DATA_ITERATOR_SPEC=6 OPTIONAL_SPEC=7
    PER_REPLICA_SPEC=8 VARIABLE_SPEC=9 ROW_PARTITION_SPEC=10 REGISTERED_TYPE_SPEC=12
    EXTENSION_TYPE_SPEC=13

file core/protobuf/trackable_object_graph
use  google/protobuf/wrappers
message TrackableObjectGraph  nodes=1:*TrackableObject
message TrackableObjectGraph.TrackableObject
    children=1:*ObjectReference attributes=2:*SerializedTensor
    slot_variables=3:*SlotVariableReference registered_saver=4:RegisteredSaver
    has_checkpoint_values=5:google.protobuf.BoolValue
message RegisteredSaver  name=1:string object_name=2:string
message TrackableObjectGraph.TrackableObject.ObjectReference
    node_id=1:int32 local_name=2:string
message TrackableObjectGraph.TrackableObject.SerializedTensor
    name=1:string full_name=2:string checkpoint_key=3:string optional_restore=4:bool
message TrackableObjectGraph.TrackableObject.SlotVariableReference
    original_variable_node_id=1:int32 slot_name=2:string slot_variable_node_id=3:int32

file core/protobuf/saved_object_graph
use
    google/protobuf/any core/protobuf/trackable_object_graph core/protobuf/struct
    core/framework/tensor_shape
    core/framework/types core/framework/versions core/framework/variable
message SavedObjectGraph  nodes=1:*SavedObject concrete_functions=2:string>SavedConcreteFunction
message SavedObject
    children=1:*TrackableObjectGraph.TrackableObject.ObjectReference
    dependencies=15:*TrackableObjectGraph.TrackableObject.ObjectReference
    slot_variables=3:*TrackableObjectGraph.TrackableObject.SlotVariableReference
    saveable_objects=11:string>SaveableObject registered_name=13:string
    serialized_user_proto=14:google.protobuf.Any registered_saver=16:string
    kind{ user_object=4:SavedUserObject asset=5:SavedAsset function=6:SavedFunction
    variable=7:SavedVariable bare_concrete_function=8:SavedBareConcreteFunction
    constant=9:SavedConstant resource=10:SavedResource captured_tensor=12:CapturedTensor }
message CapturedTensor  name=1:string concrete_function=2:string
message SaveableObject  save_function=2:int32 restore_function=3:int32
message SavedUserObject  identifier=1:string version=2:VersionDef metadata=3:string
message SavedAsset  asset_file_def_index=1:int32
message SavedFunction  concrete_functions=1:*string function_spec=2:FunctionSpec
message SavedConcreteFunction
    bound_inputs=2:*int32 canonicalized_input_signature=3:StructuredValue
    output_signature=4:StructuredValue
message SavedBareConcreteFunction
    concrete_function_name=1:string argument_keywords=2:*string
    allowed_positional_arguments=3:int64 function_spec=4:FunctionSpec
message SavedConstant  operation=1:string
message SavedVariable
    dtype=1:DataType shape=2:TensorShapeProto trainable=3:bool
    synchronization=4:VariableSynchronization aggregation=5:VariableAggregation name=6:string
    device=7:string experimental_distributed_variable_components=8:*SavedVariable
message FunctionSpec
    fullargspec=1:StructuredValue is_method=2:bool input_signature=5:StructuredValue
    jit_compile=6:JitCompile
enum FunctionSpec.JitCompile  DEFAULT=0 ON=1 OFF=2
message SavedResource  device=1:string

file core/protobuf/meta_graph
use
    google/protobuf/any core/framework/graph core/framework/op_def core/framework/tensor
    core/framework/tensor_shape
    core/framework/types core/protobuf/saved_object_graph core/protobuf/saver
    core/protobuf/struct
message MetaGraphDef
    meta_info_def=1:MetaInfoDef graph_def=2:GraphDef saver_def=3:SaverDef
    collection_def=4:string>CollectionDef signature_def=5:string>SignatureDef
    asset_file_def=6:*AssetFileDef object_graph_def=7:SavedObjectGraph
message MetaGraphDef.MetaInfoDef
    meta_graph_version=1:string stripped_op_list=2:OpList any_info=3:google.protobuf.Any
    tags=4:*string tensorflow_version=5:string tensorflow_git_version=6:string
    stripped_default_attrs=7:bool function_aliases=8:string>string
message CollectionDef
    kind{ node_list=1:NodeList bytes_list=2:BytesList int64_list=3:Int64List
    float_list=4:FloatList any_list=5:AnyList }
message CollectionDef.NodeList  value=1:*string
message CollectionDef.BytesList  value=1:*bytes
message CollectionDef.Int64List  value=1:*int64
message CollectionDef.FloatList  value=1:*float
message CollectionDef.AnyList  value=1:*google.protobuf.Any
message TensorInfo
    encoding{ name=1:string coo_sparse=4:CooSparse composite_tensor=5:CompositeTensor }
    dtype=2:DataType tensor_shape=3:TensorShapeProto
message TensorInfo.CooSparse
    values_tensor_name=1:string indices_tensor_name=2:string dense_shape_tensor_name=3:string
message TensorInfo.CompositeTensor  type_spec=1:TypeSpecProto components=2:*TensorInfo
message SignatureDef
    inputs=1:string>TensorInfo outputs=2:string>TensorInfo method_name=3:string
    defaults=4:string>TensorProto
message AssetFileDef  tensor_info=1:TensorInfo filename=2:string

file core/protobuf/saved_model
use  core/protobuf/meta_graph
message SavedModel  saved_model_schema_version=1:int64 meta_graphs=2:*MetaGraphDef

file core/protobuf/tensor_bundle
use
    core/framework/tensor_shape core/framework/tensor_slice core/framework/types
    core/framework/versions
message BundleHeaderProto  num_shards=1:int32 endianness=2:Endianness version=3:VersionDef
enum BundleHeaderProto.Endianness  LITTLE=0 BIG=1
message BundleEntryProto
    dtype=1:DataType shape=2:TensorShapeProto shard_id=3:int32 offset=4:int64 size=5:int64
    crc32c=6:fixed32 slices=7:*TensorSliceProto

file core/util/saved_tensor_slice
use
    core/framework/tensor_shape core/framework/tensor_slice core/framework/tensor
    core/framework/types core/framework/versions
message SavedSliceMeta
    name=1:string shape=2:TensorShapeProto type=3:DataType slice=4:*TensorSliceProto
message SavedTensorSliceMeta  tensor=1:*SavedSliceMeta versions=2:VersionDef
message SavedSlice  name=1:string slice=2:TensorSliceProto data=3:TensorProto
message SavedTensorSlices  meta=1:SavedTensorSliceMeta data=2:SavedSlice

file core/util/memmapped_file_system
message MemmappedFileSystemDirectoryElement  offset=1:uint64 name=2:string length=3:uint64
message MemmappedFileSystemDirectory  element=1:*MemmappedFileSystemDirectoryElement

file core/protobuf/data/experimental/snapshot package tensorflow.data.experimental
use  core/framework/tensor
message SnapshotRecord  tensor=1:*TensorProto
message SnapshotMetadataRecord
    graph_hash=1:string run_id=2:string creation_timestamp=3:int64 finalized=1000:bool
"""
