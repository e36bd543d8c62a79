"""tensorflow.python.util."""

MODULES: dict[str, str] = {
    "python.util.all_util": "headrace.api.util.documented/ make_all remove_undocumented reveal_undocumented",
    "python.util.compat": (
        "compat/ as_bytes as_str as_str_any as_text bytes_or_text_types complex_types "
        "integral_types path_to_str real_types headrace.api.util/ collections_abc"
    ),
    "python.util.compat_internal": "compat/ path_to_str",
    "python.util.decorator_utils": (
        "headrace.api.util.documented/ add_notice_to_docstring classproperty get_qualified_name "
        "validate_callable"
    ),
    "python.util.deprecation": "=headrace.api.util.deprecation",
    "python.util.dispatch": "=headrace.api.util.dispatch",
    "python.util.function_utils": "=headrace.api.util.callables",
    "python.util.lazy_loader": "headrace.api.util.lazy/ LazyLoader",
    "python.util.module_wrapper": "headrace.api.util.lazy/ TFModuleWrapper",
    "python.util.nest": (
        "nest/ assert_same_structure flatten is_nested map_structure pack_sequence_as is_sequence=is_nested "
        "headrace.functions.values.nest_paths/ assert_shallow_structure flatten_dict_items flatten_up_to "
        "flatten_with_joined_string_paths flatten_with_tuple_paths flatten_with_tuple_paths_up_to "
        "get_traverse_shallow_structure map_structure_up_to map_structure_with_paths "
        "map_structure_with_tuple_paths map_structure_with_tuple_paths_up_to yield_flat_paths "
        "headrace.functions.values.nest/ _is_namedtuple=is_namedtuple _same_namedtuples=same_namedtuples"
    ),
    "python.util.tf_contextlib": "headrace.api.util.decorators/ contextmanager",
    "python.util.tf_decorator": ("headrace.api.util.decorators/ TFDecorator make_decorator rewrap unwrap"),
    "python.util.tf_export": "=headrace.api.util.exports",
    "python.util.tf_inspect": "=headrace.api.util.inspection",
}
