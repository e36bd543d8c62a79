"""Examples and features, and how the parsing ops are configured.

The notation is described in notation.py."""

TABLE = """
file core/example/feature
message BytesList  value=1:*bytes
message FloatList  value=1:*float
message Int64List  value=1:*int64
message Feature  kind{ bytes_list=1:BytesList float_list=2:FloatList int64_list=3:Int64List }
message Features  feature=1:string>Feature
message FeatureList  feature=1:*Feature
message FeatureLists  feature_list=1:string>FeatureList

file core/example/example
use  core/example/feature
message Example  features=1:Features
message SequenceExample  context=1:Features feature_lists=2:FeatureLists

file core/example/example_parser_configuration
use  core/framework/tensor_shape core/framework/tensor core/framework/types
message VarLenFeatureProto
    dtype=1:DataType values_output_tensor_name=2:string indices_output_tensor_name=3:string
    shapes_output_tensor_name=4:string
message FixedLenFeatureProto
    dtype=1:DataType shape=2:TensorShapeProto default_value=3:TensorProto
    values_output_tensor_name=4:string
message FeatureConfiguration
    config{ fixed_len_feature=1:FixedLenFeatureProto var_len_feature=2:VarLenFeatureProto }
message ExampleParserConfiguration  feature_map=1:string>FeatureConfiguration
"""
