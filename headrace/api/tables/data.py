"""Public names of the family: data."""

NAMES: dict[str, str] = {
    "headrace.data.dataset": "data.Dataset",
    "headrace.data.values.options": (
        "data.Options data.experimental.AutoShardPolicy data.experimental.DistributeOptions "
        "data.experimental.MapVectorizationOptions data.experimental.OptimizationOptions "
        "data.experimental.StatsOptions data.experimental.ThreadingOptions"
    ),
    "headrace.data.iterators": (
        "data.Iterator data.make_one_shot_iterator data.make_initializable_iterator "
        "data.get_output_classes=get_legacy_output_classes data.get_output_shapes=get_legacy_output_shapes "
        "data.get_output_types=get_legacy_output_types data.experimental.get_structure"
    ),
    "headrace.data.values.structure": (
        "data.experimental.TensorStructure data.experimental.SparseTensorStructure "
        "data.experimental.TensorArrayStructure data.experimental.RaggedTensorStructure"
    ),
    "headrace.ops.data.pipeline.tuning": "{data.experimental.,contrib.data.}AUTOTUNE",
    "headrace.data.statistics": (
        "data.experimental.StatsAggregator data.experimental.bytes_produced_stats "
        "data.experimental.latency_stats"
    ),
    "headrace.data.older": (
        "contrib.data.batch_and_drop_remainder contrib.data.padded_batch_and_drop_remainder "
        "contrib.data.sloppy_interleave contrib.data.sliding_window_batch contrib.data.assert_element_shape "
        "contrib.data.reduce_dataset contrib.data.read_batch_features"
    ),
    "headrace.train.hooks.input_pipeline": "{data.experimental.,contrib.data.}CheckpointInputPipelineHook",
    "headrace.data.files": (
        "data.TextLineDataset data.TFRecordDataset data.FixedLengthRecordDataset "
        "{data.experimental.,contrib.data.}CsvDataset {data.experimental.,contrib.data.}SqlDataset"
    ),
    "headrace.data.sources": "{data.experimental.,contrib.data.}RandomDataset=random_dataset",
    "headrace.data.ordering": "{data.experimental.,contrib.data.}shuffle_and_repeat",
    "headrace.data.choosing": (
        "data.experimental.take_while {data.experimental.,contrib.data.}unique "
        "{data.experimental.,contrib.data.}ignore_errors"
    ),
    "headrace.data.combining": (
        "{data.experimental.,contrib.data.}enumerate_dataset "
        "{data.experimental.,contrib.data.}choose_from_datasets"
    ),
    "headrace.data.mapping": "{data.experimental.,contrib.data.}parallel_interleave",
    "headrace.data.batching": (
        "{data.experimental.,contrib.data.}dense_to_sparse_batch "
        "{data.experimental.,contrib.data.}map_and_batch "
        "data.experimental.map_and_batch_with_legacy_function "
        "{data.experimental.,contrib.data.}unbatch=unbatched"
    ),
    "headrace.data.reducing": (
        "{data.experimental.,contrib.data.}scan {data.experimental.,contrib.data.}Counter=counter "
        "{data.experimental.,contrib.data.}get_single_element"
    ),
    "headrace.data.grouping": (
        "{data.experimental.,contrib.data.}group_by_window "
        "{data.experimental.,contrib.data.}group_by_reducer "
        "{data.experimental.,contrib.data.}bucket_by_sequence_length "
        "{data.experimental.,contrib.data.}Reducer"
    ),
    "headrace.data.resampling": (
        "{data.experimental.,contrib.data.}sample_from_datasets "
        "{data.experimental.,contrib.data.}rejection_resample"
    ),
    "headrace.data.values.spec": "data.DatasetSpec data.experimental.DatasetStructure=DatasetSpec",
    "headrace.functions.values.type_spec": "data.experimental.Structure=TypeSpec",
    "headrace.data.optional": (
        "{data.experimental.,contrib.data.}Optional OptionalSpec "
        "data.experimental.OptionalStructure=OptionalSpec "
        "{data.experimental.,contrib.data.}get_next_as_optional"
    ),
    "headrace.data.variants": (
        "data.experimental.INFINITE_CARDINALITY data.experimental.UNKNOWN_CARDINALITY "
        "data.experimental.cardinality data.experimental.from_variant data.experimental.to_variant "
        "{data.experimental.,contrib.data.}copy_to_device "
        "{data.experimental.,contrib.data.}prefetch_to_device "
        "{data.experimental.,contrib.data.}TFRecordWriter"
    ),
    "headrace.train.checkpoints.iterator_saveable": (
        "{data.experimental.,contrib.data.}make_saveable_from_iterator"
    ),
    "headrace.data.reading": (
        "{data.experimental.,contrib.data.}make_csv_dataset "
        "{data.experimental.,contrib.data.}make_batched_features_dataset "
        "{data.experimental.,contrib.data.}parse_example_dataset"
    ),
}
