"""The packages below tensorflow.python.ops: linalg, losses, ragged, signal."""

MODULES: dict[str, str] = {
    "python.ops.linalg.linalg": (
        "*python.ops.linalg.linalg_impl *python.ops.linalg.linear_operator "
        "*python.ops.linalg.linear_operator_block_diag "
        "*python.ops.linalg.linear_operator_circulant "
        "*python.ops.linalg.linear_operator_composition *python.ops.linalg.linear_operator_diag "
        "*python.ops.linalg.linear_operator_full_matrix "
        "*python.ops.linalg.linear_operator_identity "
        "*python.ops.linalg.linear_operator_kronecker "
        "*python.ops.linalg.linear_operator_low_rank_update "
        "*python.ops.linalg.linear_operator_lower_triangular "
        "*python.ops.linalg.linear_operator_toeplitz *python.ops.linalg.linear_operator_zeros"
    ),
    "python.ops.linalg.linalg_impl": (
        "cholesky cholesky_solve einsum eye norm qr svd tensordot trace linalg/ adjoint "
        "band_part det diag diag_part eigh eigvalsh inv logdet logm lstsq lu "
        "matrix_exponential=expm matrix_rank pinv set_diag slogdet solve sqrtm transpose "
        "triangular_solve tridiagonal_matmul tridiagonal_solve"
    ),
    "python.ops.linalg.linear_operator": "linalg/ LinearOperator",
    "python.ops.linalg.linear_operator_adjoint": "linalg/ LinearOperatorAdjoint",
    "python.ops.linalg.linear_operator_block_diag": "linalg/ LinearOperatorBlockDiag",
    "python.ops.linalg.linear_operator_circulant": (
        "linalg/ LinearOperatorCirculant LinearOperatorCirculant2D LinearOperatorCirculant3D"
    ),
    "python.ops.linalg.linear_operator_composition": "linalg/ LinearOperatorComposition",
    "python.ops.linalg.linear_operator_diag": "linalg/ LinearOperatorDiag",
    "python.ops.linalg.linear_operator_full_matrix": "linalg/ LinearOperatorFullMatrix",
    "python.ops.linalg.linear_operator_householder": "linalg/ LinearOperatorHouseholder",
    "python.ops.linalg.linear_operator_identity": (
        "linalg/ LinearOperatorIdentity LinearOperatorScaledIdentity"
    ),
    "python.ops.linalg.linear_operator_inversion": "linalg/ LinearOperatorInversion",
    "python.ops.linalg.linear_operator_kronecker": "linalg/ LinearOperatorKronecker",
    "python.ops.linalg.linear_operator_low_rank_update": "linalg/ LinearOperatorLowRankUpdate",
    "python.ops.linalg.linear_operator_lower_triangular": "linalg/ LinearOperatorLowerTriangular",
    "python.ops.linalg.linear_operator_toeplitz": "linalg/ LinearOperatorToeplitz",
    "python.ops.linalg.linear_operator_zeros": "linalg/ LinearOperatorZeros",
    "python.ops.losses.losses": "*python.ops.losses.losses_impl *python.ops.losses.util",
    "python.ops.losses.losses_impl": (
        "losses/ absolute_difference compute_weighted_loss cosine_distance hinge_loss huber_loss "
        "log_loss mean_pairwise_squared_error mean_squared_error Reduction sigmoid_cross_entropy "
        "softmax_cross_entropy sparse_softmax_cross_entropy"
    ),
    "python.ops.losses.util": (
        "losses/ add_loss get_losses get_regularization_loss get_regularization_losses get_total_loss"
    ),
    "python.ops.ragged.ragged_array_ops": (
        "expand_dims rank size tile ragged/ boolean_mask stack_dynamic_partitions"
    ),
    "python.ops.ragged.ragged_concat_ops": "concat ragged/ stack",
    "python.ops.ragged.ragged_factory_ops": "ragged/ constant constant_value placeholder",
    "python.ops.ragged.ragged_functional_ops": "ragged/ map_flat_values",
    "python.ops.ragged.ragged_math_ops": (
        "reduce_all reduce_any reduce_max reduce_mean reduce_min reduce_prod reduce_sum ragged/ range"
    ),
    "python.ops.ragged.ragged_string_ops": (
        "string_split strings/ ngrams string_bytes_split=bytes_split strings_split_v1=split "
        "unicode_decode unicode_decode_with_offsets unicode_encode unicode_split "
        "unicode_split_with_offsets"
    ),
    "python.ops.ragged.ragged_tensor": "RaggedTensor RaggedTensorSpec",
    "python.ops.ragged.ragged_tensor_value": "ragged/ RaggedTensorValue",
    "python.ops.ragged.segment_id_ops": ("ragged/ row_splits_to_segment_ids segment_ids_to_row_splits"),
    "python.ops.signal.dct_ops": "signal/ dct idct",
    "python.ops.signal.fft_ops": (
        "fft fft2d fft3d ifft ifft2d ifft3d signal/ fftshift ifftshift irfft irfft2d irfft3d "
        "rfft rfft2d rfft3d"
    ),
    "python.ops.signal.mel_ops": "signal/ linear_to_mel_weight_matrix",
    "python.ops.signal.mfcc_ops": "signal/ mfccs_from_log_mel_spectrograms",
    "python.ops.signal.reconstruction_ops": "signal/ overlap_and_add",
    "python.ops.signal.shape_ops": "signal/ frame",
    "python.ops.signal.signal": (
        "fft fft2d fft3d ifft ifft2d ifft3d signal/ dct fftshift frame hamming_window "
        "hann_window idct ifftshift inverse_stft inverse_stft_window_fn irfft irfft2d irfft3d "
        "linear_to_mel_weight_matrix mfccs_from_log_mel_spectrograms overlap_and_add rfft rfft2d "
        "rfft3d stft"
    ),
    "python.ops.signal.spectral_ops": "signal/ inverse_stft inverse_stft_window_fn stft",
    "python.ops.signal.window_ops": "signal/ hamming_window hann_window",
}
