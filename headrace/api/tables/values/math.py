"""Public names of the family: math."""

NAMES: dict[str, str] = {
    "headrace.functions.math.elementwise": (
        "{,math.}abs=abs_ {,math.}negative {,math.}sign {,math.}square {,math.}sqrt {,math.}erf "
        "{,math.,nn.}tanh math.bessel_i0e math.bessel_i1e"
    ),
    "headrace.functions.math.math": (
        "{,math.}truediv div {,math.}divide div_no_nan math.divide_no_nan=div_no_nan "
        "math.multiply_no_nan math.reciprocal_no_nan {,math.}floordiv {,math.}scalar_mul "
        "{,math.}pow=pow_ math.polyval range=range_ {,dtypes.}complex=complex_ "
        "{,math.}real {,math.}imag {,math.}angle {,math.}conj {,math.}round=round_ "
        "{,math.,nn.}sigmoid {,math.}log_sigmoid nn.log_sigmoid {,math.}logical_xor {,math.}equal "
        "{,math.}not_equal"
    ),
    "headrace.functions.math.sums": (
        "{,math.}add_n {,math.}accumulate_n {,math.}cumsum {,math.}cumprod math.cumulative_logsumexp"
    ),
    "headrace.functions.math.reduce": (
        "{,math.}reduce_sum {,math.}reduce_mean {,math.}reduce_prod {,math.}reduce_max "
        "{,math.}reduce_min {,math.}reduce_all {,math.}reduce_any {,math.}reduce_logsumexp "
        "math.reduce_euclidean_norm math.reduce_variance math.reduce_std {,math.}count_nonzero "
        "{,math.}argmax {,math.}argmin"
    ),
    "headrace.functions.math.cast": (
        "{,dtypes.}cast {,dtypes.}saturate_cast to_float to_double to_int32 to_int64 to_bfloat16 "
        "to_complex64 to_complex128 bitcast"
    ),
    "headrace.ops.math.arithmetic": (
        "{,math.}add {,math.}subtract=sub {,math.}multiply=mul {,math.}mod=floor_mod "
        "{,math.}floormod=floor_mod truncatediv=truncate_div truncatemod=truncate_mod "
        "realdiv=real_div floor_div {,math.}maximum {,math.}minimum {,math.}squared_difference "
        "{,math.}reciprocal {,math.}rsqrt {,math.}exp {,math.}expm1 {,math.}log {,math.}log1p "
        "{,math.}ceil {,math.}floor {,math.}rint math.xdivy math.xlogy"
    ),
    "headrace.ops.math.comparison": (
        "{,math.}less {,math.}less_equal {,math.}greater {,math.}greater_equal "
        "{,math.,debugging.}is_nan {,math.,debugging.}is_inf "
        "{,math.,debugging.}is_finite"
    ),
    "headrace.ops.math.logical": "{,math.}logical_and {,math.}logical_or {,math.}logical_not",
    "headrace.ops.math.trigonometry": (
        "{,math.}sin {,math.}cos {,math.}tan {,math.}asin {,math.}acos {,math.}atan {,math.}atan2 "
        "{,math.}sinh {,math.}cosh {,math.}asinh {,math.}acosh {,math.}atanh"
    ),
    "headrace.ops.math.special": (
        "{,math.}lgamma {,math.}digamma {,math.}erfc {,math.}polygamma {,math.}zeta {,math.}igamma "
        "{,math.}igammac {,math.}betainc math.nextafter=next_after"
    ),
    "headrace.functions.math.clip": (
        "clip_by_value clip_by_norm clip_by_global_norm clip_by_average_norm {,linalg.}global_norm"
    ),
    "headrace.functions.math.confusion": "{,math.,train.}confusion_matrix",
    "headrace.functions.array.checks": (
        "{,debugging.}Assert {,debugging.}assert_equal {,debugging.}assert_none_equal "
        "{,debugging.}assert_less {,debugging.}assert_less_equal {,debugging.}assert_greater "
        "{,debugging.}assert_greater_equal {,debugging.}assert_negative "
        "{,debugging.}assert_positive {,debugging.}assert_non_negative "
        "{,debugging.}assert_non_positive {,debugging.}assert_near"
    ),
    "headrace.functions.array.rank_checks": (
        "{,debugging.}assert_rank {,debugging.}assert_rank_at_least {,debugging.}assert_rank_in "
        "{,debugging.}assert_scalar {,debugging.}assert_type "
        "{,debugging.}assert_integer {,debugging.}assert_same_float_dtype "
        "{,debugging.}assert_proper_iterable"
    ),
    "headrace.functions.array.shape_checks": "debugging.assert_shapes",
    "headrace.functions.math.numerics": (
        "verify_tensor_all_finite debugging.assert_all_finite=verify_tensor_all_finite "
        "add_check_numerics_ops {,debugging.}is_numeric_tensor "
        "{,math.,debugging.}is_non_decreasing {,math.,debugging.}is_strictly_increasing "
        "{,math.}bincount histogram_fixed_width histogram_fixed_width_bins "
        "fingerprint"
    ),
    "headrace.ops.math.checks": "{,debugging.}check_numerics",
    "headrace.ops.math.reduce": "arg_max=argmax arg_min=argmin",
    "headrace.ops.math.sequence": "lin_space linspace=lin_space",
    "headrace.ops.math.bitwise": (
        "bitwise.bitwise_and bitwise.bitwise_or bitwise.bitwise_xor bitwise.invert "
        "bitwise.left_shift bitwise.right_shift"
    ),
}
