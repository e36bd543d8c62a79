"""Public names of the family: nn."""

NAMES: dict[str, str] = {
    "headrace.ops.nn.activation": "nn.relu nn.elu nn.selu {math.,nn.}softplus {math.,nn.}softsign",
    "headrace.ops.nn.normalization.norm": "nn.l2_loss",
    "headrace.functions.nn.activation": (
        "nn.relu6 nn.leaky_relu nn.crelu nn.swish nn.bias_add nn.xw_plus_b nn.relu_layer nn.dropout "
        "{math.,nn.}zero_fraction"
    ),
    "headrace.functions.nn.atrous": (
        "nn.with_space_to_batch nn.convolution nn.atrous_conv2d nn.depthwise_conv2d nn.separable_conv2d"
    ),
    "headrace.functions.nn.conv": (
        "nn.conv1d nn.conv2d nn.conv2d_backprop_filter nn.conv2d_backprop_input nn.conv3d "
        "nn.conv3d_backprop_filter=conv3d_backprop_filter_v2 nn.conv3d_backprop_filter_v2 "
        "nn.depthwise_conv2d_native "
        "nn.depthwise_conv2d_native_backprop_input nn.depthwise_conv2d_native_backprop_filter "
        "nn.depthwise_conv2d_backprop_input=depthwise_conv2d_native_backprop_input "
        "nn.depthwise_conv2d_backprop_filter=depthwise_conv2d_native_backprop_filter"
    ),
    "headrace.functions.nn.transpose": (
        "nn.conv1d_transpose nn.conv2d_transpose nn.conv3d_transpose nn.conv_transpose "
        "nn.atrous_conv2d_transpose"
    ),
    "headrace.functions.nn.pool": (
        "nn.avg_pool nn.avg_pool1d nn.avg_pool2d=avg_pool nn.avg_pool3d nn.avg_pool_v2 nn.max_pool "
        "nn.max_pool1d nn.max_pool2d nn.max_pool3d nn.max_pool_v2 nn.max_pool_with_argmax nn.pool"
    ),
    "headrace.functions.nn.fractional": "nn.fractional_max_pool nn.fractional_avg_pool",
    "headrace.functions.nn.morphology": "nn.dilation2d nn.erosion2d",
    "headrace.functions.nn.softmax": (
        "{math.,nn.}softmax {math.,nn.}log_softmax nn.softmax_cross_entropy_with_logits "
        "nn.softmax_cross_entropy_with_logits_v2 nn.sparse_softmax_cross_entropy_with_logits"
    ),
    "headrace.functions.nn.loss": (
        "nn.sigmoid_cross_entropy_with_logits nn.weighted_cross_entropy_with_logits "
        "nn.log_poisson_loss {math.,nn.}in_top_k"
    ),
    "headrace.functions.nn.norm": (
        "nn.moments nn.weighted_moments nn.sufficient_statistics nn.normalize_moments "
        "nn.batch_normalization nn.fused_batch_norm nn.batch_norm_with_global_normalization "
        "nn.local_response_normalization nn.lrn=local_response_normalization"
    ),
    "headrace.functions.nn.ctc": (
        "nn.ctc_loss nn.ctc_loss_v2 nn.ctc_greedy_decoder nn.ctc_beam_search_decoder "
        "nn.ctc_beam_search_decoder_v2 nn.collapse_repeated nn.ctc_unique_labels"
    ),
    "headrace.nn.rnn": "nn.dynamic_rnn nn.bidirectional_dynamic_rnn",
    "headrace.nn.raw_rnn": "nn.raw_rnn",
    "headrace.nn.static_rnn": ("nn.static_rnn nn.static_state_saving_rnn nn.static_bidirectional_rnn"),
    "headrace.layers.losses.average_loss": "nn.compute_average_loss nn.scale_regularization_loss",
    "headrace.layers.rnn.rnn_cells": ("nn.rnn_cell.RNNCell nn.rnn_cell.BasicRNNCell nn.rnn_cell.GRUCell"),
    "headrace.layers.rnn.lstm_cells": (
        "nn.rnn_cell.LSTMStateTuple nn.rnn_cell.BasicLSTMCell nn.rnn_cell.LSTMCell"
    ),
    "headrace.layers.rnn.rnn_wrappers": (
        "nn.rnn_cell.DropoutWrapper nn.rnn_cell.ResidualWrapper nn.rnn_cell.DeviceWrapper "
        "nn.rnn_cell.MultiRNNCell"
    ),
}
