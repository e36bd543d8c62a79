"""Public names of the family: control flow."""

NAMES: dict[str, str] = {
    "headrace.ops.control.timestamp": "timestamp",
    "headrace.functions.control.cond": "cond",
    "headrace.functions.control.critical_section": "CriticalSection",
    "headrace.functions.control.case": "case switch_case",
    "headrace.functions.control.while_loop": "while_loop",
    "headrace.functions.control.tensor_array": "TensorArray",
    "headrace.functions.control.tensor_array_list": "TensorArraySpec",
    "headrace.functions.control.map_fn": "map_fn",
    "headrace.functions.control.functional": "foldl foldr scan",
    "headrace.functions.control.grouping": "group tuple=tuple_",
}
