"""Public names of the family: io."""

NAMES: dict[str, str] = {
    "headrace.functions.record_io": (
        "{io.,python_io.}TFRecordWriter {io.,python_io.}TFRecordOptions "
        "{io.,python_io.}TFRecordCompressionType {io.,python_io.}tf_record_iterator"
    ),
    "headrace.ops.file": "{,io.}read_file {,io.}write_file {,io.}matching_files",
    "headrace.functions.example_features": (
        "{,io.}FixedLenFeature {,io.}FixedLenSequenceFeature {,io.}VarLenFeature {,io.}SparseFeature"
    ),
    "headrace.functions.parsing": (
        "{,io.}parse_example {,io.}parse_single_example io.parse_sequence_example "
        "{,io.}parse_single_sequence_example"
    ),
    "headrace.functions.decoding": "{,io.}decode_raw {,io.}decode_csv",
    "headrace.ops.proto_fields": "io.decode_proto=decode_proto_v2 io.encode_proto",
    "headrace.ops.decode_raw": (
        "{,io.}decode_compressed {,io.}parse_tensor {,io.}serialize_tensor"
    ),
    "headrace.functions.queue": (
        "{,io.,queue.}QueueBase {,queue.}FIFOQueue {,io.,queue.}PaddingFIFOQueue "
        "{,io.,queue.}PriorityQueue {,io.,queue.}RandomShuffleQueue"
    ),
    "headrace.functions.accumulator": (
        "ConditionalAccumulatorBase ConditionalAccumulator {,sparse.}SparseConditionalAccumulator"
    ),
    "headrace.functions.reader": (
        "ReaderBase WholeFileReader IdentityReader TextLineReader FixedLengthRecordReader "
        "TFRecordReader"
    ),
    "headrace.ops.decode_text": "{,io.}decode_json_example",
}
