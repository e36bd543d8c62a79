"""Public names of the family: control flow."""

NAMES: dict[str, str] = {
    "headrace.functions.cond": "cond",
    "headrace.functions.case": "case switch_case",
    "headrace.functions.while_loop": "while_loop",
    "headrace.functions.tensor_array": "TensorArray",
    "headrace.functions.tensor_array_list": "TensorArraySpec",
    "headrace.functions.map_fn": "map_fn",
    "headrace.functions.functional": "foldl foldr scan",
    "headrace.functions.grouping": "group tuple=tuple_",
}
