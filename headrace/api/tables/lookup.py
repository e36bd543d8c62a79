"""Public names of the family: lookup."""

NAMES: dict[str, str] = {
    "headrace.functions.queues.table_initializer": (
        "{,initializers.}tables_initializer initialize_all_tables"
    )
}
