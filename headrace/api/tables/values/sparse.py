"""Public names of the family: sparse and ragged tensors, composite values, nested structures, sets."""

NAMES: dict[str, str] = {
    "headrace.functions.values.nest": (
        "nest.assert_same_structure nest.flatten nest.is_nested nest.map_structure nest.pack_sequence_as"
    ),
    "headrace.functions.values.type_spec": "TypeSpec data.experimental.Structure=TypeSpec",
    "headrace.functions.values.tensor_spec": "TensorSpec",
    "headrace.functions.sparse.indexed_slices_spec": "IndexedSlicesSpec",
    "headrace.functions.sparse.tensor": (
        "{,sparse.}SparseTensor SparseTensorValue SparseTensorSpec convert_to_tensor_or_sparse_tensor"
    ),
    "headrace.functions.sparse.sparse": (
        "sparse.from_dense sparse.eye=sparse_eye sparse.placeholder=sparse_placeholder "
        "sparse_placeholder sparse_to_dense sparse.to_dense=sparse_tensor_to_dense "
        "sparse_tensor_to_dense sparse.expand_dims=sparse_expand_dims "
        "sparse.reorder=sparse_reorder sparse_reorder sparse.reshape=sparse_reshape "
        "sparse_reshape sparse.reset_shape=sparse_reset_shape sparse_reset_shape "
        "sparse.transpose=sparse_transpose sparse_transpose"
    ),
    "headrace.functions.sparse.parts": (
        "sparse.concat=sparse_concat sparse_concat sparse.split=sparse_split sparse_split "
        "sparse.slice=sparse_slice sparse_slice sparse.retain=sparse_retain sparse_retain "
        "sparse.fill_empty_rows=sparse_fill_empty_rows sparse_fill_empty_rows "
        "sparse.merge=sparse_merge sparse_merge "
        "sparse.to_indicator=sparse_to_indicator sparse_to_indicator "
        "sparse.cross=sparse_cross sparse.cross_hashed=sparse_cross_hashed"
    ),
    "headrace.functions.sparse.math": (
        "sparse.add=sparse_add sparse_add sparse.softmax=sparse_softmax sparse_softmax "
        "sparse.maximum=sparse_maximum sparse_maximum sparse.minimum=sparse_minimum "
        "sparse_minimum sparse.reduce_sum=sparse_reduce_sum sparse_reduce_sum "
        "sparse.reduce_sum_sparse=sparse_reduce_sum_sparse sparse_reduce_sum_sparse "
        "sparse.reduce_max=sparse_reduce_max sparse_reduce_max "
        "sparse.reduce_max_sparse=sparse_reduce_max_sparse sparse_reduce_max_sparse "
        "sparse.sparse_dense_matmul=sparse_tensor_dense_matmul "
        "sparse.matmul=sparse_tensor_dense_matmul sparse_tensor_dense_matmul"
    ),
    "headrace.functions.sparse.io": (
        "{,io.}serialize_sparse {,io.}serialize_many_sparse {,io.}deserialize_many_sparse"
    ),
    "headrace.functions.ragged.tensor": "RaggedTensor",
    "headrace.functions.ragged.spec": "RaggedTensorSpec",
    "headrace.functions.ragged.value": "ragged.RaggedTensorValue",
    "headrace.functions.ragged.constant": ("ragged.constant ragged.constant_value ragged.placeholder"),
    "headrace.functions.ragged.ragged": (
        "ragged.range=ragged_range ragged.map_flat_values ragged.row_splits_to_segment_ids "
        "ragged.segment_ids_to_row_splits"
    ),
    "headrace.functions.ragged.stack": ("ragged.stack ragged.boolean_mask ragged.stack_dynamic_partitions"),
    "headrace.functions.sparse.sets": (
        "sets.set_size sets.set_intersection sets.set_difference sets.set_union "
        "sets.size=set_size sets.intersection=set_intersection sets.difference=set_difference "
        "sets.union=set_union"
    ),
}
