"""Calls of tf.contrib.rnn's cells, whoever implements them: `run(tf, cells)` with TensorFlow's
names or ours gives the variables and the values."""

import numpy as np

BATCH, STEPS, DEPTH = 3, 4, 4

CASES = {
    "coupled": lambda c: c.CoupledInputForgetGateLSTMCell(5),
    "coupled_all": lambda c: c.CoupledInputForgetGateLSTMCell(
        5, use_peepholes=True, num_proj=3, proj_clip=0.2, num_unit_shards=2, num_proj_shards=3,
        layer_norm=True, norm_gain=1.2, norm_shift=0.1, state_is_tuple=False,
    ),
    "time_frequency": lambda c: c.TimeFreqLSTMCell(
        4, use_peepholes=True, cell_clip=0.3, feature_size=4, frequency_skip=1
    ),
    "grid": lambda c: c.GridLSTMCell(
        3, use_peepholes=True, cell_clip=0.7, feature_size=2, frequency_skip=1,
        num_frequency_blocks=[3],
    ),
    "grid_coupled": lambda c: c.GridLSTMCell(
        3, couple_input_forget_gates=True, share_time_frequency_weights=True, use_peepholes=True,
        feature_size=2, frequency_skip=1, num_frequency_blocks=[3], state_is_tuple=False,
    ),
    "grid_blocks": lambda c: c.GridLSTMCell(
        3, couple_input_forget_gates=True, feature_size=2, frequency_skip=1, num_unit_shards=2,
        num_frequency_blocks=[1, 2], start_freqindex_list=[0, 1], end_freqindex_list=[2, 4],
    ),
    "grid_both_ways": lambda c: c.BidirectionalGridLSTMCell(
        2, use_peepholes=True, feature_size=2, frequency_skip=1, num_frequency_blocks=[3],
        backward_slice_offset=1,
    ),
    "grid_both_ways_less": lambda c: c.BidirectionalGridLSTMCell(
        2, feature_size=2, frequency_skip=1, num_frequency_blocks=[3], backward_slice_offset=-1
    ),
    "nas": lambda c: c.NASCell(5, num_proj=3, use_bias=True),
    "ugrnn": lambda c: c.UGRNNCell(5),
    "intersection": lambda c: c.IntersectionRNNCell(5, num_in_proj=5),
    "conv1d": lambda c: c.Conv1DLSTMCell(
        input_shape=[DEPTH, 2], output_channels=3, kernel_shape=[3]
    ),
    "conv2d": lambda c: c.Conv2DLSTMCell(
        input_shape=[DEPTH, 2, 2], output_channels=3, kernel_shape=[3, 1], use_bias=False
    ),
    "conv3d": lambda c: c.Conv3DLSTMCell(
        input_shape=[DEPTH, 2, 2, 1], output_channels=2, kernel_shape=[3, 1, 2]
    ),
    "groups": lambda c: c.GLSTMCell(4, num_proj=6, number_of_groups=2),
    "layer_norm_basic": lambda c: c.LayerNormBasicLSTMCell(5, norm_gain=0.9, norm_shift=0.2),
    "layer_norm": lambda c: c.LayerNormLSTMCell(
        5, use_peepholes=True, cell_clip=0.9, num_proj=3, proj_clip=0.3, layer_norm=True
    ),
    "without_layer_norm": lambda c: c.LayerNormLSTMCell(5),
    "sru": lambda c: c.SRUCell(5),
    "weight_norm": lambda c: c.WeightNormLSTMCell(
        5, use_peepholes=True, cell_clip=0.9, num_proj=3, proj_clip=0.3
    ),
    "without_weight_norm": lambda c: c.WeightNormLSTMCell(5, norm=False),
    "independent": lambda c: c.IndRNNCell(5),
    "independent_gru": lambda c: c.IndyGRUCell(5),
    "independent_lstm": lambda c: c.IndyLSTMCell(5),
    "minimal": lambda c: c.MinimalRNNCell(5),
    "chaos_free": lambda c: c.CFNCell(5),
    "highway": lambda c: c.HighwayWrapper(c.IndRNNCell(DEPTH), couple_carry_transform_gates=False),
    "highway_coupled": lambda c: c.HighwayWrapper(c.IndRNNCell(DEPTH), carry_bias_init=-0.5),
    "attention": lambda c: c.AttentionCellWrapper(c.IndyLSTMCell(5), 3),
    "attention_joined": lambda c: c.AttentionCellWrapper(
        c.IndyGRUCell(5), 3, attn_size=2, attn_vec_size=4, input_size=6, state_is_tuple=False
    ),
    "turing_machine": lambda c: c.NTMCell(c.IndyLSTMCell(6), 5, 4, 2, 1, output_dim=3),
    "phased": lambda c: c.PhasedLSTMCell(5, use_peepholes=True),
}  # fmt: skip


def numbers(shape, seed):
    return np.random.RandomState(seed).uniform(-0.8, 0.8, shape).astype(np.float32)


def step_shape(name):
    return {"conv1d": [DEPTH, 2], "conv2d": [DEPTH, 2, 2], "conv3d": [DEPTH, 2, 2, 1]}.get(name, [DEPTH])


def zero_of(tf, name, cell):
    if name == "time_frequency":  # it keeps a state of one window only
        return tf.zeros([BATCH, 8])
    return cell.zero_state(BATCH, tf.float32)


def run(tf, cells, name):
    """Names and shapes of the variables, the outputs of a few steps and the gradients."""
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.constant(numbers([STEPS, BATCH, *step_shape(name)], 1))
        times = tf.constant(np.cumsum(np.abs(numbers([STEPS, BATCH, 1], 2)), axis=0) * 30)
        with tf.variable_scope("root", use_resource=False):
            cell = CASES[name](cells)
            state, outputs = zero_of(tf, name, cell), []
            for i in range(STEPS):
                with tf.variable_scope("step", reuse=i > 0):
                    step = (times[i], x[i]) if name == "phased" else x[i]
                    output, state = cell(step, state)
                    outputs.append(output)
        variables = tf.global_variables()
        names = [f"{v.op.name} {v.shape.as_list()}" for v in variables]
        values = [numbers(v.shape.as_list(), 7 + i) for i, v in enumerate(variables)]
        for i, v in enumerate(variables):
            if v.op.name.endswith(("period", "ratio_on")):
                values[i] = 0.3 + np.abs(values[i]) * (20 if v.op.name.endswith("period") else 0.5)
            v.load(values[i], sess)
        loss = tf.add_n([tf.reduce_sum(y * y) for y in outputs])
        wanted = [v for v in variables if "period" not in v.op.name and "phase" not in v.op.name]
        slopes = [g for g in tf.gradients(loss, [x, *wanted]) if g is not None]
        found = sess.run([*outputs, tf.reduce_sum(x * slopes[0]), *slopes[1:]])
        return names, found[:STEPS], found[STEPS:]
