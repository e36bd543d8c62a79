"""Public names of the family: io."""

NAMES: dict[str, str] = {
    "headrace.functions.example_features": (
        "{,io.}FixedLenFeature {,io.}FixedLenSequenceFeature {,io.}VarLenFeature {,io.}SparseFeature"
    ),
    "headrace.functions.parsing": (
        "{,io.}parse_example {,io.}parse_single_example io.parse_sequence_example "
        "{,io.}parse_single_sequence_example"
    ),
    "headrace.functions.decoding": "{,io.}decode_raw {,io.}decode_csv",
    "headrace.ops.decode_raw": (
        "{,io.}decode_compressed {,io.}parse_tensor {,io.}serialize_tensor"
    ),
    "headrace.ops.decode_text": "{,io.}decode_json_example",
}
