"""Public names of the family: quantized numbers."""

NAMES: dict[str, str] = {
    "headrace.functions.io.quantize": (
        "{,quantization.}quantize quantize_v2 {,quantization.}dequantize "
        "quantization.quantize_and_dequantize {,quantization.}fake_quant_with_min_max_args "
        "{,quantization.}fake_quant_with_min_max_args_gradient nn.quantized_conv2d"
    ),
    "headrace.ops.quantized.fake_quantize": (
        "{,quantization.}fake_quant_with_min_max_vars "
        "{,quantization.}fake_quant_with_min_max_vars_gradient "
        "{,quantization.}fake_quant_with_min_max_vars_per_channel "
        "{,quantization.}fake_quant_with_min_max_vars_per_channel_gradient"
    ),
    "headrace.ops.quantized.math": "{,quantization.}quantized_concat nn.quantized_relu_x",
    "headrace.ops.quantized.image": "nn.quantized_avg_pool nn.quantized_max_pool",
}
