"""tf.contrib.legacy_seq2seq: values beside NumPy or a model built otherwise, names of TF's checkpoints."""

import numpy as np
import pytest

import headrace as tf

seq2seq = tf.contrib.legacy_seq2seq
BATCH, UNITS = 3, 4


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        g.seed = 2
        yield g


def run(fetches, feeds=None):
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return sess.run(fetches, feeds)


def rows(steps, seed=0, size=UNITS):
    return list(np.random.RandomState(seed).normal(size=(steps, BATCH, size)).astype("f"))


def symbols(steps, seed=0, count=5):
    return list(np.random.RandomState(seed).randint(0, count, (steps, BATCH)).astype(np.int32))


def constants(arrays):
    return [tf.constant(array) for array in arrays]


def gru():
    return tf.nn.rnn_cell.GRUCell(UNITS)


def lstm():
    return tf.nn.rnn_cell.BasicLSTMCell(UNITS)


def stack():
    return tf.nn.rnn_cell.MultiRNNCell([lstm(), gru()])


# -- models: (read, given, cell, feed_previous) -> (outputs, state), with five symbols -------------
def plain(read, given, cell, feed, **rest):
    return seq2seq.embedding_rnn_seq2seq(read, given, cell, 5, 5, 3, feed_previous=feed, **rest)


def tied(read, given, cell, feed, **rest):
    return seq2seq.embedding_tied_rnn_seq2seq(read, given, cell, 5, 3, feed_previous=feed, **rest)


def attending(read, given, cell, feed, **rest):
    return seq2seq.embedding_attention_seq2seq(
        read, given, cell, 5, 5, 3, feed_previous=feed, num_heads=2, **rest
    )


def remembering(read, given, cell, feed, **rest):
    return attending(read, given, cell, feed, initial_state_attention=True, **rest)


def one_of_many(read, given, cell, feed):
    outputs, states = seq2seq.one2many_rnn_seq2seq(
        read, {"a": given}, type(cell)(UNITS), {"a": cell}, 5, {"a": 5}, 3, feed_previous=feed
    )
    return outputs["a"], states["a"]


MODELS = [plain, tied, attending, remembering]


# -- decoders --------------------------------------------------------------------------------------
def test_a_decoder_is_a_loop_of_its_cell():
    cell, inputs, state = tf.nn.rnn_cell.BasicRNNCell(UNITS), rows(3), rows(1, seed=1)[0]
    found = seq2seq.rnn_decoder(constants(inputs), tf.constant(state), cell)
    (outputs, last), kernel, bias = run([found, *cell.weights])
    assert [v.name for v in cell.weights] == [
        f"rnn_decoder/basic_rnn_cell/{name}:0" for name in ("kernel", "bias")
    ]
    for row, output in zip(inputs, outputs, strict=True):
        state = np.tanh(np.hstack([row, state]) @ kernel + bias)
        np.testing.assert_allclose(output, state, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(last, outputs[-1])


def test_a_loop_function_makes_inputs_of_outputs():
    steps = []

    def loop_function(output, step):
        steps.append(step)
        assert tf.get_variable_scope().name == "mine/loop_function"
        assert tf.get_variable_scope().reuse
        return output * step

    inputs, state = constants(rows(3)), tf.constant(rows(1, seed=1)[0])
    cell = gru()
    outputs, _ = seq2seq.rnn_decoder(inputs, state, cell, loop_function, scope="mine")
    first, state = cell(inputs[0], state)
    second, state = cell(first, state)
    third, _ = cell(second * 2, state)
    assert steps == [1, 2]
    found, wanted = run([outputs, [first, second, third]])
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("initial", [True, False])
def test_attention_is_what_numpy_says(known, initial):
    cell, inputs = tf.nn.rnn_cell.BasicRNNCell(UNITS), rows(3, size=2)
    state, memory = rows(1, seed=1)[0], np.stack(rows(5, seed=2, size=6), 1)
    outputs, last = seq2seq.attention_decoder(
        constants(inputs),
        tf.constant(state),
        tf.placeholder_with_default(memory, memory.shape if known else [None, None, 6]),
        cell,
        output_size=7,
        num_heads=2,
        initial_state_attention=initial,
    )
    assert [output.shape.as_list()[-1] for output in outputs] == [7, 7, 7]
    prefix = "attention_decoder/"
    names = [v.op.name.removeprefix(prefix) for v in tf.global_variables()]
    values, found, ended = run([tf.global_variables(), outputs, last])
    v = dict(zip(names, values))

    def linear(parts, name=""):
        return np.hstack(parts) @ v[f"{name}kernel"] + v[f"{name}bias"]

    def read(query):
        for head in range(2):
            keys = memory @ v[f"AttnW_{head}"][0, 0]
            asked = linear([query], f"Attention_{head}/")[:, None]
            scores = np.exp((v[f"AttnV_{head}"] * np.tanh(keys + asked)).sum(-1))
            weights = scores / scores.sum(-1, keepdims=True)
            yield (weights[..., None] * memory).sum(1)

    attention = [*read(state)] if initial else [np.zeros([BATCH, 6])] * 2
    for row, output in zip(inputs, found, strict=True):
        joined = linear([row, *attention])
        state = np.tanh(linear([joined, state], "basic_rnn_cell/"))
        attention = [*read(state)]
        wanted = linear([state, *attention], "AttnOutputProjection/")
        np.testing.assert_allclose(output, wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(ended, state, rtol=1e-4, atol=1e-5)


# -- models ----------------------------------------------------------------------------------------
def test_a_tied_model_goes_on_where_it_has_read():
    read, given = constants(rows(3)), constants(rows(2, seed=1))
    cell = lstm()
    outputs, state = seq2seq.tied_rnn_seq2seq(read, given, cell)
    assert [v.op.name for v in cell.weights] == [
        f"combined_tied_rnn_seq2seq/tied_rnn_seq2seq/basic_lstm_cell/{n}" for n in ("kernel", "bias")
    ]
    wanted, last = tf.nn.static_rnn(cell, read + given, dtype=tf.float32)
    found, wanted = run([[outputs, state], [wanted[3:], last]])
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-6)
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-6)


def test_a_basic_model_reads_and_writes_with_different_variables():
    read, given = constants(rows(3)), constants(rows(2, seed=1))
    outputs, _ = seq2seq.basic_rnn_seq2seq(read, given, gru())
    names = [v.op.name for v in tf.global_variables()]
    parts = ("gates/kernel", "gates/bias", "candidate/kernel", "candidate/bias")
    assert names == [
        f"basic_rnn_seq2seq/{side}/gru_cell/{n}" for side in ("rnn", "rnn_decoder") for n in parts
    ]
    with tf.variable_scope("basic_rnn_seq2seq", reuse=True):
        _, state = tf.nn.static_rnn(gru(), read, dtype=tf.float32)
        wanted, _ = tf.nn.static_rnn(gru(), given, initial_state=state, scope="rnn_decoder")
    found, wanted = run([outputs, wanted])
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize("feed", [False, True, "tensor"])
@pytest.mark.parametrize(
    "model, names",
    [
        (
            plain,
            """embedding_rnn_seq2seq/
            rnn/embedding_wrapper/embedding
            rnn/embedding_wrapper/basic_lstm_cell/kernel
            rnn/embedding_wrapper/basic_lstm_cell/bias
            embedding_rnn_decoder/embedding
            embedding_rnn_decoder/rnn_decoder/output_projection_wrapper/basic_lstm_cell/kernel
            embedding_rnn_decoder/rnn_decoder/output_projection_wrapper/basic_lstm_cell/bias
            embedding_rnn_decoder/rnn_decoder/output_projection_wrapper/kernel
            embedding_rnn_decoder/rnn_decoder/output_projection_wrapper/bias""",
        ),
        (
            tied,
            """embedding_tied_rnn_seq2seq/
            embedding
            combined_tied_rnn_seq2seq/tied_rnn_seq2seq/output_projection_wrapper/basic_lstm_cell/kernel
            combined_tied_rnn_seq2seq/tied_rnn_seq2seq/output_projection_wrapper/basic_lstm_cell/bias
            combined_tied_rnn_seq2seq/tied_rnn_seq2seq/output_projection_wrapper/kernel
            combined_tied_rnn_seq2seq/tied_rnn_seq2seq/output_projection_wrapper/bias""",
        ),
        (
            attending,
            """embedding_attention_seq2seq/
            rnn/embedding_wrapper/embedding
            rnn/embedding_wrapper/basic_lstm_cell/kernel
            rnn/embedding_wrapper/basic_lstm_cell/bias
            embedding_attention_decoder/embedding
            embedding_attention_decoder/attention_decoder/AttnW_0
            embedding_attention_decoder/attention_decoder/AttnV_0
            embedding_attention_decoder/attention_decoder/AttnW_1
            embedding_attention_decoder/attention_decoder/AttnV_1
            embedding_attention_decoder/attention_decoder/kernel
            embedding_attention_decoder/attention_decoder/bias
            embedding_attention_decoder/attention_decoder/output_projection_wrapper/basic_lstm_cell/kernel
            embedding_attention_decoder/attention_decoder/output_projection_wrapper/basic_lstm_cell/bias
            embedding_attention_decoder/attention_decoder/output_projection_wrapper/kernel
            embedding_attention_decoder/attention_decoder/output_projection_wrapper/bias
            embedding_attention_decoder/attention_decoder/Attention_0/kernel
            embedding_attention_decoder/attention_decoder/Attention_0/bias
            embedding_attention_decoder/attention_decoder/Attention_1/kernel
            embedding_attention_decoder/attention_decoder/Attention_1/bias
            embedding_attention_decoder/attention_decoder/AttnOutputProjection/kernel
            embedding_attention_decoder/attention_decoder/AttnOutputProjection/bias""",
        ),
        (
            one_of_many,
            """one2many_rnn_seq2seq/
            rnn/embedding_wrapper/embedding
            rnn/embedding_wrapper/basic_lstm_cell/kernel
            rnn/embedding_wrapper/basic_lstm_cell/bias
            one2many_decoder_a/embedding_rnn_decoder/embedding
            one2many_decoder_a/embedding_rnn_decoder/rnn_decoder/output_projection_wrapper/basic_lstm_cell/kernel
            one2many_decoder_a/embedding_rnn_decoder/rnn_decoder/output_projection_wrapper/basic_lstm_cell/bias
            one2many_decoder_a/embedding_rnn_decoder/rnn_decoder/output_projection_wrapper/kernel
            one2many_decoder_a/embedding_rnn_decoder/rnn_decoder/output_projection_wrapper/bias""",
        ),
    ],
)
def test_variables_are_those_of_tensorflows_checkpoints(model, names, feed):
    feed = tf.placeholder_with_default(True, []) if feed == "tensor" else feed
    model(constants(symbols(2)), constants(symbols(2)), lstm(), feed)
    scope, *names = names.split()
    assert [v.op.name for v in tf.global_variables()] == [scope + name for name in names]


@pytest.mark.parametrize(
    "model, cell", [(plain, gru), (plain, stack), (tied, lstm), (attending, lstm), (remembering, stack)]
)
def test_a_fed_model_reads_what_it_wrote(model, cell):
    """The likeliest symbols given as inputs are the symbols fed back, decided when the graph runs or
    before; and every variable gets a gradient."""
    read = constants(symbols(2))
    given = [tf.placeholder(tf.int32, [None]) for _ in range(3)]
    flag = tf.placeholder(tf.bool, [])
    with tf.variable_scope("model", reuse=tf.AUTO_REUSE) as scope:
        scope.set_initializer(tf.random_uniform_initializer(-2, 2))
        (told, _), (fed, end), (chosen, chosen_end) = (
            model(read, given, cell(), feed) for feed in (False, True, flag)
        )
    tf.contrib.framework.nest.assert_same_structure(end, chosen_end)
    losses = [tf.add_n([tf.reduce_sum(o[:, :2]) for o in outputs]) for outputs in (told, chosen)]
    slopes = [tf.gradients(loss, tf.trainable_variables()) for loss in losses]
    assert None not in slopes[0] and None not in slopes[1]
    zeros = {x: np.zeros(BATCH, np.int32) for x in given}
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        wanted, wanted_end = sess.run([fed, end], zeros)
        written = np.argmax(wanted, -1)
        assert written[:-1].any()  # else the feeds are what was given
        feeds = dict(zip(given, [np.zeros(BATCH, np.int32), *written]))
        found = [
            sess.run(told, feeds),
            sess.run(chosen, feeds | {flag: False}),
            sess.run(chosen, zeros | {flag: True}),
        ]
        for values in found:
            np.testing.assert_allclose(values, wanted, rtol=1e-5, atol=1e-5)
        assert not np.allclose(sess.run(chosen, zeros | {flag: False}), wanted)
        ended = sess.run(chosen_end, zeros | {flag: True})
    tf.contrib.framework.nest.map_structure(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5), ended, wanted_end
    )


@pytest.mark.parametrize("updates", [True, False])
def test_gradients_of_chosen_rows(updates):
    given = constants(symbols(3))
    cell = tf.contrib.rnn.OutputProjectionWrapper(gru(), 5)
    outputs, _ = seq2seq.embedding_rnn_decoder(
        given, tf.ones([BATCH, UNITS]), cell, 5, 3, feed_previous=True, update_embedding_for_previous=updates
    )
    table = tf.trainable_variables()[0]
    slope = tf.convert_to_tensor(tf.gradients(tf.add_n(outputs), table)[0])
    touched = {*symbols(3)[0]}
    written, slope = run([outputs, slope])
    if updates:
        touched |= {*np.argmax(written, -1)[:2].flat}
    assert {*np.flatnonzero(np.abs(slope).sum(1))} == touched


@pytest.mark.parametrize("model", MODELS)
def test_a_projection_from_outside_only_chooses(model):
    """With zeros as weights, the next symbol is the largest bias."""
    biases = tf.one_hot(3, 5)
    read, given = constants(symbols(3)), constants(symbols(1) + [np.full(BATCH, 3, np.int32)] * 2)
    with tf.variable_scope("model", reuse=tf.AUTO_REUSE):
        projection = tf.zeros([UNITS, 5]), biases
        fed, told = (
            model(read, given, gru(), feed, output_projection=projection)[0] for feed in (True, False)
        )
    assert fed[0].shape.as_list() == [BATCH, UNITS]
    found, wanted = run([fed, told])
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("model", MODELS)
def test_models_of_doubles(model):
    read, given = constants(symbols(2)), constants(symbols(2))
    outputs, state = model(read, given, gru(), False, dtype=tf.float64)
    assert {t.dtype for t in [*outputs, state]} == {tf.float64}
    assert {v.dtype.base_dtype for v in tf.global_variables()} == {tf.float64}
    assert np.isfinite(run(outputs)).all()


def test_a_tied_model_may_write_fewer_symbols():
    outputs, _ = seq2seq.embedding_tied_rnn_seq2seq(
        constants(symbols(2)), constants(symbols(2)), gru(), 5, 3, num_decoder_symbols=2
    )
    assert [output.shape.as_list() for output in outputs] == [[BATCH, 2]] * 2


def test_many_decoders_behind_one_encoder():
    read = constants(symbols(3))
    given = {"a": constants(symbols(2, seed=1)), 7: constants(symbols(4, seed=2, count=6))}
    outputs, states = seq2seq.one2many_rnn_seq2seq(
        read, given, lstm(), {"a": lstm(), 7: lstm()}, 5, {"a": 5, 7: 6}, 3
    )
    assert [o.shape.as_list() for o in outputs["a"]] == [[BATCH, 5]] * 2
    assert [o.shape.as_list() for o in outputs[7]] == [[BATCH, 6]] * 4
    with tf.variable_scope("one2many_rnn_seq2seq", reuse=True):
        wrapped = tf.contrib.rnn.EmbeddingWrapper(lstm(), 5, 3)
        _, state = tf.nn.static_rnn(wrapped, read, dtype=tf.float32)
        with tf.variable_scope("one2many_decoder_7"):
            cell = tf.contrib.rnn.OutputProjectionWrapper(lstm(), 6)
            wanted = seq2seq.embedding_rnn_decoder(given[7], state, cell, 6, 3)
    found, wanted = run([(outputs[7], states[7]), wanted])
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-5, atol=1e-6)


# -- losses and buckets ----------------------------------------------------------------------------
def entropies(logits, targets):
    total = np.log(np.exp(logits).sum(-1))
    return total - np.take_along_axis(logits, targets[..., None], -1)[..., 0]


def test_losses_are_what_numpy_says():
    logits, targets = np.stack(rows(4, size=5)), np.stack(symbols(4, seed=1))
    weights = np.random.RandomState(2).uniform(size=(4, BATCH)).astype("f")
    weights[:, 1] = 0
    given = [constants(part) for part in (logits, targets, weights)]
    summed = (entropies(logits, targets) * weights).sum(0)
    averaged = summed / (weights.sum(0) + 1e-12)
    for average, wanted in ((True, averaged), (False, summed)):
        each = seq2seq.sequence_loss_by_example(*given, average_across_timesteps=average)
        mean = seq2seq.sequence_loss(*given, average_across_timesteps=average)
        total = seq2seq.sequence_loss(*given, average_across_timesteps=average, average_across_batch=False)
        each, mean, total = run([each, mean, total])
        np.testing.assert_allclose(each, wanted, rtol=1e-5)
        np.testing.assert_allclose(mean, wanted.mean(), rtol=1e-5)
        np.testing.assert_allclose(total, wanted.sum(), rtol=1e-5)


def test_a_loss_of_ones_own_gets_labels_and_logits_by_name():
    logits, targets = constants(rows(2)), constants(symbols(2))
    seen = []

    def loss(labels, logits):
        seen.append((labels, logits))
        return tf.cast(labels, tf.float32)

    weights = [tf.fill([BATCH], 2.0)] * 2
    found = seq2seq.sequence_loss_by_example(logits, targets, weights, softmax_loss_function=loss)
    assert seen == list(zip(targets, logits))
    np.testing.assert_allclose(run(found), np.mean(symbols(2), 0), rtol=1e-6)


def test_a_scalar_is_a_target_of_one():
    found = seq2seq.sequence_loss_by_example([tf.zeros([1, 5])], [tf.constant(2)], [tf.ones([1])])
    np.testing.assert_allclose(run(found), [np.log(5)], rtol=1e-6)


@pytest.mark.parametrize("per_example", [False, True])
def test_buckets_share_one_model(per_example):
    read, given, targets = (constants(symbols(5, seed)) for seed in range(3))
    weights = [tf.ones([BATCH])] * 5

    def build(read, given):
        return attending(read, given, gru(), False)

    outputs, losses = seq2seq.model_with_buckets(
        read, given, targets, weights, [(2, 3), (4, 5)], build, per_example_loss=per_example
    )
    assert [len(steps) for steps in outputs] == [3, 5]
    assert not tf.get_variable_scope().reuse
    count = len(tf.global_variables())
    with tf.variable_scope(tf.get_variable_scope(), reuse=True):
        wanted, _ = build(read[:2], given[:3])
    assert len(tf.global_variables()) == count
    found, wanted, losses = run([outputs[0], wanted, losses])
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    each = entropies(np.stack(wanted), np.stack(symbols(3, 2))).mean(0)
    np.testing.assert_allclose(losses[0], each if per_example else each.mean(), rtol=1e-4)
    assert losses[1].shape == losses[0].shape


def test_copying_is_learnt():
    rng = np.random.RandomState(0)
    read = [tf.placeholder(tf.int32, [None]) for _ in range(3)]
    given = [tf.zeros_like(read[0]), *read[:-1]]
    with tf.variable_scope("model", reuse=tf.AUTO_REUSE):
        outputs, fed = (
            seq2seq.embedding_attention_seq2seq(
                read, given, tf.nn.rnn_cell.GRUCell(24), 5, 5, 24, feed_previous=feed
            )[0]
            for feed in (False, True)
        )
    weights = [tf.ones_like(x, tf.float32) for x in read]
    loss = seq2seq.sequence_loss(outputs, read, weights)
    train = tf.train.AdamOptimizer(0.02).minimize(loss)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(80):
            value, _ = sess.run([loss, train], dict(zip(read, rng.randint(1, 5, (3, 32)))))
        assert value < 0.2
        tokens = rng.randint(1, 5, (3, 16))
        assert np.mean(np.argmax(sess.run(fed, dict(zip(read, tokens))), -1) == tokens) > 0.9


# -- errors ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "given, memory, heads, said",
    [
        ([], [2, 5, 3], 1, "at least 1 input"),
        ([[2, 3]], [2, 5, 3], 0, "less than 1 heads"),
        ([[2, 3]], [2, 5, None], 1, r"Shape\[2\] of attention_states must be known"),
        ([[2, 3]], None, 1, r"Shape\[2\] of attention_states must be known"),
        ([[2, None]], [2, 5, 3], 1, "Could not infer input size"),
    ],
)
def test_attention_refuses(given, memory, heads, said):
    inputs = [tf.placeholder(tf.float32, shape) for shape in given]
    memory = tf.placeholder(tf.float32, memory)
    with pytest.raises(ValueError, match=said):
        seq2seq.attention_decoder(inputs, tf.zeros([2, UNITS]), memory, gru(), num_heads=heads)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("weights, biases", [([UNITS, 6], [5]), ([UNITS, 5], [6])])
def test_projections_of_wrong_shapes(model, weights, biases):
    if weights[1] == 6 and model in (attending, remembering):
        return  # as in TF, these look at the biases alone
    projection = tf.zeros(weights), tf.zeros(biases)
    with pytest.raises(ValueError, match="incompatible"):
        model(constants(symbols(2)), constants(symbols(2)), gru(), False, output_projection=projection)


def test_bad_arguments():
    two, three = constants(rows(2)), constants(rows(3))
    with pytest.raises(ValueError, match="must be the same 3, 2, 2"):
        seq2seq.sequence_loss(three, two, two)
    for lists, said in (
        ((two, three, three, three), r"encoder_inputs \(2\) must be at least .* \(3\)"),
        ((three, three, two, three), r"targets \(2\) must be at least"),
        ((three, three, three, two), r"weights \(2\) must be at least"),
    ):
        with pytest.raises(ValueError, match=said):
            seq2seq.model_with_buckets(*lists, [(1, 1), (3, 3)], None)
    ids = constants(symbols(2))
    with pytest.raises(TypeError, match="enc_cell is not an RNNCell"):
        seq2seq.one2many_rnn_seq2seq(ids, {"a": ids}, None, {"a": gru()}, 5, {"a": 5}, 3)
    with pytest.raises(TypeError, match="dec_cell is not an RNNCell"):
        seq2seq.one2many_rnn_seq2seq(ids, {"a": ids}, gru(), {"a": None}, 5, {"a": 5}, 3)
    with pytest.raises(ValueError, match="keys of dec_cells_dict"):
        seq2seq.one2many_rnn_seq2seq(ids, {"a": ids}, gru(), {"b": gru()}, 5, {"a": 5}, 3)
