"""Public names of the family: arrays."""

NAMES: dict[str, str] = {
    "headrace.functions.array": (
        "shape shape_n size rank broadcast_static_shape broadcast_dynamic_shape zeros ones "
        "zeros_like ones_like fill {,manip.}reshape expand_dims squeeze transpose "
        "{,linalg.}matrix_transpose linalg.transpose=matrix_transpose identity placeholder "
        "placeholder_with_default get_static_value"
    ),
    "headrace.functions.stacking": "stack parallel_stack unstack concat split",
    "headrace.functions.slice": "slice=slice_ strided_slice",
    "headrace.functions.indexing": (
        "boolean_mask gather {,manip.}gather_nd batch_gather where where_v2 one_hot sequence_mask"
    ),
    "headrace.ops.indexed_slices": "IndexedSlices",
    "headrace.ops.source": "stop_gradient identity_n no_op",
    "headrace.ops.tile": "{,manip.}tile broadcast_to",
    "headrace.ops.transpose": "{,math.}invert_permutation",
    "headrace.ops.scatter": (
        "{,manip.}scatter_nd tensor_scatter_update tensor_scatter_add tensor_scatter_sub"
    ),
}
