"""Public names of the family: lookup."""

_LOOKUP = "headrace.train.lookup"

NAMES: dict[str, str] = {
    "headrace.functions.queues.table_initializer": (
        "{,initializers.}tables_initializer initialize_all_tables"
    ),
    f"{_LOOKUP}.initializers": (
        "{lookup.,contrib.lookup.}KeyValueTensorInitializer {lookup.,contrib.lookup.}TextFileIndex "
        "{lookup.,contrib.lookup.}TextFileInitializer contrib.lookup.TextFileIdTableInitializer "
        "contrib.lookup.TextFileStringTableInitializer"
    ),
    f"{_LOOKUP}.static_tables": (
        "lookup.StaticHashTable lookup.StaticVocabularyTable contrib.lookup.IdTableWithHashBuckets "
        "contrib.lookup.HasherSpec contrib.lookup.FastHashSpec contrib.lookup.StrongHashSpec"
    ),
    f"{_LOOKUP}.mutable_tables": (
        "lookup.experimental.DenseHashTable contrib.lookup.MutableDenseHashTable=DenseHashTable "
        "contrib.lookup.MutableHashTable"
    ),
    f"{_LOOKUP}.interface": (
        "contrib.lookup.LookupInterface contrib.lookup.InitializableLookupTableBase "
        "contrib.lookup.TableInitializerBase"
    ),
    f"{_LOOKUP}.vocabularies": (
        "contrib.lookup.index_table_from_file contrib.lookup.index_to_string_table_from_file"
    ),
    "headrace.contrib.lookup.lookup": (
        "contrib.lookup.HashTable contrib.lookup.string_to_index_table_from_file "
        "contrib.lookup.string_to_index_table_from_tensor contrib.lookup.index_table_from_tensor "
        "contrib.lookup.string_to_index contrib.lookup.index_to_string_table_from_tensor "
        "contrib.lookup.index_to_string"
    ),
}
