"""tensorflow.python.feature_column."""

MODULES: dict[str, str] = {
    "python.feature_column.dense_features": "keras.layers/ DenseFeatures",
    "python.feature_column.dense_features_v2": "keras.layers/ DenseFeatures",
    "python.feature_column.feature_column": (
        "feature_column/ input_layer linear_model make_parse_example_spec "
        "headrace.layers.columns.base/ _FeatureColumn=OldFeatureColumn _DenseColumn=OldDenseColumn "
        "_CategoricalColumn=OldCategoricalColumn _SequenceDenseColumn=OldSequenceDenseColumn "
        "_LazyBuilder=FeatureTransformationCache _normalize_feature_columns=sorted_columns "
        "headrace.layers.columns.input_layer/ _internal_input_layer=internal_input_layer "
        "_LinearModel=OldLinearModel headrace.layers.columns.numeric/ _numeric_column=numeric_column "
        "_bucketized_column=bucketized_column _NumericColumn=NumericColumn "
        "_BucketizedColumn=BucketizedColumn headrace.layers.columns.embedding/ "
        "_embedding_column=embedding_column _EmbeddingColumn=EmbeddingColumn "
        "_IndicatorColumn=IndicatorColumn _indicator_column=indicator_column "
        "_SharedEmbeddingColumn=OldSharedEmbeddingColumn headrace.layers.columns.categorical/ "
        "_categorical_column_with_hash_bucket=categorical_column_with_hash_bucket "
        "_categorical_column_with_identity=categorical_column_with_identity "
        "_categorical_column_with_vocabulary_file=categorical_column_with_vocabulary_file "
        "_categorical_column_with_vocabulary_list=categorical_column_with_vocabulary_list "
        "_HashedCategoricalColumn=HashedCategoricalColumn "
        "_IdentityCategoricalColumn=IdentityCategoricalColumn "
        "_VocabularyFileCategoricalColumn=VocabularyFileCategoricalColumn "
        "_VocabularyListCategoricalColumn=VocabularyListCategoricalColumn "
        "headrace.layers.columns.combined/ _WeightedCategoricalColumn=WeightedCategoricalColumn "
        "_CrossedColumn=CrossedColumn _crossed_column=crossed_column "
        "_weighted_categorical_column=weighted_categorical_column headrace.layers.columns.sequence/ "
        "_SequenceCategoricalColumn=SequenceCategoricalColumn headrace.layers.columns.checks/ "
        "_check_shape=checked_shape headrace.layers.columns.base/ "
        "_verify_static_batch_size_equality=check_batch_sizes headrace.layers.columns.transforming/ "
        "_transform_features=transform_features"
    ),
    "python.feature_column.feature_column_lib": (
        "*python.feature_column.dense_features *python.feature_column.sequence_feature_column "
        "*python.feature_column.feature_column *python.feature_column.feature_column_v2"
    ),
    "python.feature_column.feature_column_v2": (
        "feature_column/ bucketized_column categorical_column_with_hash_bucket "
        "categorical_column_with_identity categorical_column_with_vocabulary_file "
        "categorical_column_with_vocabulary_list crossed_column embedding_column indicator_column "
        "numeric_column shared_embedding_columns weighted_categorical_column "
        "headrace.layers.columns.base/ FeatureColumn DenseColumn CategoricalColumn "
        "SequenceDenseColumn FeatureTransformationCache StateManager make_parse_example_spec_v2 "
        "is_feature_column_v2 _normalize_feature_columns=sorted_columns "
        "_verify_static_batch_size_equality=check_batch_sizes headrace.layers.columns.categorical/ "
        "HashedCategoricalColumn IdentityCategoricalColumn VocabularyFileCategoricalColumn "
        "VocabularyListCategoricalColumn categorical_column_with_vocabulary_file_v2 "
        "headrace.layers.columns.numeric/ NumericColumn BucketizedColumn "
        "headrace.layers.columns.combined/ CrossedColumn WeightedCategoricalColumn "
        "headrace.layers.columns.embedding/ EmbeddingColumn IndicatorColumn SharedEmbeddingColumn "
        "shared_embedding_columns_v2=shared_embeddings SharedEmbeddingColumnCreator=SharedEmbeddings "
        "headrace.layers.columns.sequence/ SequenceCategoricalColumn "
        "headrace.layers.columns.feature_layers/ _StateManagerImpl=LayerState "
        "_StateManagerImplV2=LayerState _BaseFeaturesLayer=FeaturesLayer "
        "headrace.layers.columns.transforming/ _transform_features_v2=transform_features_v2"
    ),
    "python.feature_column.sequence_feature_column": (
        "headrace.layers.columns.sequence/ SequenceNumericColumn sequence_numeric_column "
        "sequence_categorical_column_with_hash_bucket sequence_categorical_column_with_identity "
        "sequence_categorical_column_with_vocabulary_file "
        "sequence_categorical_column_with_vocabulary_list headrace.layers.columns.feature_layers/ "
        "SequenceFeatures concatenate_context_input"
    ),
    "python.feature_column.utils": (
        "headrace.layers.columns.sequence/ sequence_length_from_sparse_tensor=lengths_of "
        "headrace.layers.columns.checks/ assert_key_is_string=check_key "
        "check_default_value=checked_default"
    ),
}
