"""Public names of the family: sparse tensors, composite values, nested structures, sets."""

NAMES: dict[str, str] = {
    "headrace.functions.nest": (
        "nest.assert_same_structure nest.flatten nest.is_nested nest.map_structure "
        "nest.pack_sequence_as"
    ),
    "headrace.functions.type_spec": "TypeSpec data.experimental.Structure=TypeSpec TensorSpec",
    "headrace.functions.indexed_slices_spec": "IndexedSlicesSpec",
    "headrace.functions.sparse_tensor": (
        "{,sparse.}SparseTensor SparseTensorValue SparseTensorSpec "
        "convert_to_tensor_or_sparse_tensor"
    ),
}
