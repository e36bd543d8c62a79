"""Public names of the family: lookup."""

NAMES: dict[str, str] = {
    "headrace.functions.table_initializer": (
        "{,initializers.}tables_initializer initialize_all_tables"
    ),
}
