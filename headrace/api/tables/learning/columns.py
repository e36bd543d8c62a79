"""Public names of the family: feature columns."""

_COLUMNS = "headrace.layers.columns"


def _columns(names: str) -> str:
    return " ".join(f"feature_column.{name}" for name in names.split())


NAMES: dict[str, str] = {
    f"{_COLUMNS}.base": _columns("make_parse_example_spec"),
    f"{_COLUMNS}.numeric": _columns("numeric_column bucketized_column"),
    f"{_COLUMNS}.categorical": _columns(
        "categorical_column_with_hash_bucket categorical_column_with_identity "
        "categorical_column_with_vocabulary_file categorical_column_with_vocabulary_list"
    ),
    f"{_COLUMNS}.combined": _columns("crossed_column weighted_categorical_column"),
    f"{_COLUMNS}.embedding": _columns("embedding_column indicator_column shared_embedding_columns"),
    f"{_COLUMNS}.sequence": _columns(
        "sequence_numeric_column sequence_categorical_column_with_hash_bucket "
        "sequence_categorical_column_with_identity sequence_categorical_column_with_vocabulary_file "
        "sequence_categorical_column_with_vocabulary_list"
    )
    + " contrib.feature_column.sequence_numeric_column "
    "contrib.feature_column.sequence_categorical_column_with_hash_bucket "
    "contrib.feature_column.sequence_categorical_column_with_identity "
    "contrib.feature_column.sequence_categorical_column_with_vocabulary_file "
    "contrib.feature_column.sequence_categorical_column_with_vocabulary_list",
    f"{_COLUMNS}.input_layer": _columns("input_layer linear_model")
    + " contrib.feature_column.sequence_input_layer",
    f"{_COLUMNS}.feature_layers": (
        "keras.layers.DenseFeatures keras.experimental.SequenceFeatures "
        "contrib.feature_column.concatenate_context_input"
    ),
}
