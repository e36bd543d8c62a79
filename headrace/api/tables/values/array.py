"""Public names of the family: arrays."""

NAMES: dict[str, str] = {
    "headrace.functions.array.array": (
        "shape shape_n size rank broadcast_static_shape broadcast_dynamic_shape zeros ones "
        "zeros_like ones_like fill {,manip.}reshape expand_dims squeeze transpose "
        "{,linalg.}matrix_transpose linalg.transpose=matrix_transpose identity placeholder "
        "placeholder_with_default get_static_value"
    ),
    "headrace.functions.array.stacking": "stack parallel_stack unstack concat split",
    "headrace.functions.array.slice": "slice=slice_ strided_slice",
    "headrace.functions.array.indexing": (
        "boolean_mask gather {,manip.}gather_nd batch_gather where where_v2 one_hot sequence_mask"
    ),
    "headrace.functions.array.tiling": "pad meshgrid repeat",
    "headrace.functions.array.space": (
        "required_space_to_batch_paddings {,nn.}space_to_batch batch_to_space "
        "{,nn.}space_to_depth {,nn.}depth_to_space"
    ),
    "headrace.functions.array.sort": (
        "sort argsort searchsorted {math.,nn.}top_k unique unique_with_counts setdiff1d "
        "reverse_sequence edit_distance"
    ),
    "headrace.functions.math.segment": (
        "{,math.}unsorted_segment_mean {,math.}unsorted_segment_sqrt_n sparse_segment_sum "
        "sparse_segment_mean sparse_segment_sqrt_n sparse.segment_sum=sparse_segment_sum "
        "sparse.segment_mean=sparse_segment_mean sparse.segment_sqrt_n=sparse_segment_sqrt_n"
    ),
    "headrace.functions.array.diagonal": (
        "matrix_diag matrix_diag_part matrix_set_diag linalg.diag=matrix_diag "
        "linalg.diag_part=matrix_diag_part linalg.set_diag=matrix_set_diag"
    ),
    "headrace.functions.strings.protos": "make_tensor_proto make_ndarray ensure_shape",
    "headrace.functions.sparse.indexed_rows": (
        "newaxis convert_to_tensor_or_indexed_slices sparse_mask sparse.mask=sparse_mask"
    ),
    "headrace.ops.declaration.indexed_slices": "IndexedSlices",
    "headrace.ops.array.source": "stop_gradient identity_n no_op",
    "headrace.ops.array.tile": "{,manip.}tile broadcast_to",
    "headrace.ops.array.transpose": "{,math.}invert_permutation",
    "headrace.ops.array.indexing.scatter": (
        "{,manip.}scatter_nd tensor_scatter_update tensor_scatter_add tensor_scatter_sub "
        "tensor_scatter_nd_update=tensor_scatter_update tensor_scatter_nd_add=tensor_scatter_add "
        "tensor_scatter_nd_sub=tensor_scatter_sub"
    ),
    "headrace.ops.array.reverse": "{,manip.}reverse=reverse_v2 reverse_v2 {,manip.}roll",
    "headrace.ops.array.space": "{,manip.}space_to_batch_nd {,manip.}batch_to_space_nd",
    "headrace.ops.array.indexing.segment": (
        "{,math.}segment_sum {,math.}segment_mean {,math.}segment_prod {,math.}segment_min "
        "{,math.}segment_max {,math.}unsorted_segment_sum {,math.}unsorted_segment_prod "
        "{,math.}unsorted_segment_min {,math.}unsorted_segment_max"
    ),
    "headrace.ops.array.indexing.partition": "dynamic_partition dynamic_stitch parallel_dynamic_stitch",
    "headrace.ops.array.diagonals.diagonal": (
        "diag diag_part linalg.tensor_diag=diag linalg.tensor_diag_part=diag_part "
        "{,linalg.}matrix_band_part linalg.band_part=matrix_band_part"
    ),
    "headrace.ops.array.copies": "guarantee_const unravel_index",
}
