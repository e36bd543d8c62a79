"""Public names of the family: io."""

NAMES: dict[str, str] = {
    "headrace.functions.io.record_io": (
        "{io.,python_io.}TFRecordWriter {io.,python_io.}TFRecordOptions "
        "{io.,python_io.}TFRecordCompressionType {io.,python_io.}tf_record_iterator"
    ),
    "headrace.ops.io.file": "{,io.}read_file {,io.}write_file {,io.}matching_files",
    "headrace.functions.io.example_features": (
        "{,io.}FixedLenFeature {,io.}FixedLenSequenceFeature {,io.}VarLenFeature {,io.}SparseFeature"
    ),
    "headrace.functions.io.parsing": (
        "{,io.}parse_example {,io.}parse_single_example io.parse_sequence_example "
        "{,io.}parse_single_sequence_example"
    ),
    "headrace.functions.strings.decoding": "{,io.}decode_raw {,io.}decode_csv",
    "headrace.ops.io.proto_fields": "io.decode_proto=decode_proto_v2 io.encode_proto",
    "headrace.ops.io.decode_raw": ("{,io.}decode_compressed {,io.}parse_tensor {,io.}serialize_tensor"),
    "headrace.functions.queues.queue": (
        "{,io.,queue.}QueueBase {,queue.}FIFOQueue {,io.,queue.}PaddingFIFOQueue "
        "{,io.,queue.}PriorityQueue {,io.,queue.}RandomShuffleQueue"
    ),
    "headrace.functions.queues.accumulator": (
        "ConditionalAccumulatorBase ConditionalAccumulator {,sparse.}SparseConditionalAccumulator"
    ),
    "headrace.functions.queues.reader": (
        "ReaderBase WholeFileReader IdentityReader TextLineReader FixedLengthRecordReader TFRecordReader"
    ),
    "headrace.ops.io.decode_text": "{,io.}decode_json_example",
}
