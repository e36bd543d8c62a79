"""tf.contrib.seq2seq and tf.contrib.crf: training, search, attention, likelihoods by enumeration."""

import itertools

import numpy as np
import pytest

import headrace as tf

seq2seq, crf = tf.contrib.seq2seq, tf.contrib.crf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        g.seed = 1
        yield g


def run(fetches, feeds=None):
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return sess.run(fetches, feeds)


class Copier:
    """Reads tokens 2... and writes them again after the start token 0, until the end token 1."""

    def __init__(self, vocabulary=6, depth=24, mechanism=seq2seq.LuongAttention):
        self.embedding = tf.get_variable("embedding", [vocabulary, depth])
        self.encoder = tf.nn.rnn_cell.GRUCell(depth, name="encoder")
        self.cell = tf.nn.rnn_cell.GRUCell(depth, name="decoder_cell")
        self.out = tf.layers.Dense(vocabulary, name="out")
        self.depth, self.mechanism = depth, mechanism

    def encoded(self, tokens):
        inputs = tf.nn.embedding_lookup(self.embedding, tokens)
        return tf.nn.dynamic_rnn(self.encoder, inputs, dtype=tf.float32)

    def decoder(self, memory, state, make, history=False):
        with tf.variable_scope("attention", reuse=tf.AUTO_REUSE):
            mechanism = self.mechanism(self.depth, memory)
            cell = seq2seq.AttentionWrapper(self.cell, mechanism, self.depth, alignment_history=history)
            first = cell.zero_state(tf.shape(memory)[0], tf.float32).clone(cell_state=state)
            return seq2seq.dynamic_decode(make(cell, first), maximum_iterations=6, scope="decoder")


def test_copying_is_learnt_and_a_beam_of_one_is_greedy():
    model = Copier()
    rng = np.random.RandomState(0)
    tokens = tf.placeholder(tf.int32, [None, 3])
    batch = tf.shape(tokens)[0]
    memory, state = model.encoded(tokens)
    ends = tf.fill([batch, 1], 1)
    targets = tf.concat([tokens, ends], 1)
    read = tf.nn.embedding_lookup(model.embedding, tf.concat([tf.zeros_like(ends), tokens], 1))

    def training(cell, first):
        helper = seq2seq.TrainingHelper(read, tf.fill([batch], 4))
        return seq2seq.BasicDecoder(cell, helper, first, output_layer=model.out)

    def greedy(cell, first):
        helper = seq2seq.GreedyEmbeddingHelper(model.embedding, tf.zeros([batch], tf.int32), 1)
        return seq2seq.BasicDecoder(cell, helper, first, output_layer=model.out)

    def beam(width):
        def make(cell, first):
            return seq2seq.BeamSearchDecoder(
                cell, model.embedding, tf.zeros([batch], tf.int32), 1, first, width, model.out
            )

        tiled = [seq2seq.tile_batch(t, width) for t in (memory, state)]
        return model.decoder(*tiled, make)[0].predicted_ids

    outputs = model.decoder(memory, state, training)[0]
    loss = seq2seq.sequence_loss(outputs.rnn_output, targets, tf.ones_like(targets, tf.float32))
    train = tf.train.AdamOptimizer(0.03).minimize(loss)
    chosen, _, lengths = model.decoder(memory, state, greedy)
    one, three = beam(1), beam(3)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        untrained = {tokens: rng.randint(2, 6, size=(5, 3))}
        a, b = sess.run([chosen.sample_id, one], untrained)
        np.testing.assert_array_equal(*_until_end(a, b[:, :, 0]))
        for _ in range(70):
            value, _ = sess.run([loss, train], {tokens: rng.randint(2, 6, size=(32, 3))})
        assert value < 0.1
        given = rng.randint(2, 6, size=(8, 3))
        ids, best, top, ends_at = sess.run([chosen.sample_id, one, three, lengths], {tokens: given})
    assert np.mean(ids[:, :3] == given) > 0.9
    np.testing.assert_array_equal(*_until_end(ids, best[:, :, 0]))
    assert np.mean(top[:, :3, 0] == given) > 0.9
    assert (ends_at == 4).mean() > 0.9


def _until_end(a, b, end=1):
    """Both, with end tokens after the first and up to the longer length."""
    time = max(a.shape[1], b.shape[1])
    out = []
    for ids in (a, b):
        ids = np.pad(ids, ((0, 0), (0, time - ids.shape[1])), constant_values=end)
        out.append(np.where(np.logical_or.accumulate(ids == end, axis=1), end, ids))
    return out


@pytest.mark.parametrize("name", ["Luong", "Bahdanau"])
def test_alignments_sum_to_one_within_the_memory(name):
    make = getattr(seq2seq, f"{name}Attention")
    memory = tf.random_normal([4, 7, 5])
    mechanism = make(6, memory, memory_sequence_length=[7, 3, 1, 5])
    cell = seq2seq.AttentionWrapper(tf.nn.rnn_cell.LSTMCell(6), mechanism, 8, alignment_history=True)
    helper = seq2seq.TrainingHelper(tf.random_normal([4, 3, 2]), [3, 3, 2, 3])
    decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(4, tf.float32))
    outputs, state, lengths = seq2seq.dynamic_decode(decoder, impute_finished=True)
    history, written, ends = run([state.alignment_history.stack(), outputs.rnn_output, lengths])
    assert history.shape == (3, 4, 7) and written.shape == (4, 3, 8)
    np.testing.assert_allclose(history.sum(-1), 1, rtol=1e-5)
    assert not history[:, 1, 3:].any() and not history[:, 2, 1:].any()
    assert not written[2, 2].any()
    assert ends.tolist() == [3, 3, 2, 3]


@pytest.mark.parametrize("name", ["Luong", "Bahdanau"])
@pytest.mark.parametrize("mode", ["recursive", "parallel", "hard"])
def test_monotonic_attention_moves_forward(name, mode):
    make = getattr(seq2seq, f"{name}MonotonicAttention")
    mechanism = make(6, tf.random_normal([3, 5, 4]), mode=mode, score_bias_init=0.5)
    state = mechanism.initial_state(3, tf.float32)
    steps = []
    for _ in range(3):
        alignments, state = mechanism(tf.random_normal([3, 6]), state)
        steps.append(alignments)
    values = np.cumsum(run(steps), -1)
    assert (values[:, :, -1] <= 1 + 1e-5).all()
    assert (np.diff(values, axis=0) <= 1e-5).all()


def test_modes_of_monotonic_attention_agree():
    rng = np.random.RandomState(0)
    chance, before = rng.uniform(0.1, 0.6, (2, 6)), rng.dirichlet(np.ones(6), 2)
    a, b = run([seq2seq.monotonic_attention(chance, before, m) for m in ("recursive", "parallel")])
    np.testing.assert_allclose(a, b, rtol=1e-6)
    with pytest.raises(ValueError, match="mode must be"):
        seq2seq.monotonic_attention(chance, before, "soft")


def test_a_wide_beam_finds_the_best_sequence():
    """Every sequence of three tokens of a random chain, against a beam that can hold them all."""
    rng = np.random.RandomState(1)
    table = rng.normal(size=(4, 4)).astype("f")
    logits = tf.constant(table)

    class Chain(tf.nn.rnn_cell.RNNCell):
        state_size = output_size = 4

        def call(self, inputs, state):
            return tf.matmul(inputs, logits), state

    decoder = seq2seq.BeamSearchDecoder(
        Chain(), lambda ids: tf.one_hot(ids, 4), [0], 3, tf.zeros([64, 4]), 64
    )
    outputs, state, _ = seq2seq.dynamic_decode(decoder, maximum_iterations=3)
    beams, scores = run([outputs.predicted_ids, state.log_probs])
    logs = table - np.log(np.exp(table).sum(1, keepdims=True))

    def score(ids):
        total, last = 0.0, 0
        for token in ids:
            if last == 3:
                return total if token == 3 else -np.inf
            total, last = total + logs[last, token], token
        return total

    best = max(itertools.product(range(4), repeat=3), key=score)
    assert tuple(beams[0, :, 0]) == best
    np.testing.assert_allclose(scores[0, 0], score(best), rtol=1e-5)


@pytest.mark.parametrize("probability", [0.0, 1.0])
def test_scheduled_sampling(probability):
    inputs = np.random.RandomState(0).normal(size=(3, 4, 5)).astype("f")
    cell = tf.nn.rnn_cell.GRUCell(5)
    for helper in (
        seq2seq.ScheduledEmbeddingTrainingHelper(inputs, [4, 2, 3], tf.eye(5), probability),
        seq2seq.ScheduledOutputTrainingHelper(inputs, [4, 2, 3], probability),
    ):
        decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(3, tf.float32))
        outputs, _, lengths = seq2seq.dynamic_decode(decoder)
        samples, ends = run([outputs.sample_id, lengths])
        assert ends.tolist() == [4, 2, 3]
        nothing = -1 if hasattr(helper, "_scheduling_seed") else 0
        assert (samples != nothing).all() if probability else (samples == nothing).all()


def test_bad_arguments():
    cell = tf.nn.rnn_cell.GRUCell(3)
    with pytest.raises(TypeError, match="Expected decoder to be type Decoder"):
        seq2seq.dynamic_decode(cell)
    with pytest.raises(TypeError, match="helper must be a Helper"):
        seq2seq.BasicDecoder(cell, None, None)
    with pytest.raises(ValueError, match="start_tokens must be a vector"):
        seq2seq.GreedyEmbeddingHelper(tf.eye(3), 0, 1)
    with pytest.raises(ValueError, match="sequence_length to be a vector"):
        seq2seq.TrainingHelper(tf.ones([1, 2, 3]), 2)
    with pytest.raises(TypeError, match="attention_mechanism must be an AttentionMechanism"):
        seq2seq.AttentionWrapper(cell, None)
    with pytest.raises(ValueError, match="Logits must be a"):
        seq2seq.sequence_loss(tf.ones([1, 2]), tf.ones([1, 2]), tf.ones([1, 2]))


# -- crf ------------------------------------------------------------------------------------------
def _scores(potentials, transitions, length):
    """The score of every tag sequence of this length."""
    tags = potentials.shape[-1]
    return {
        ids: sum(potentials[i, t] for i, t in enumerate(ids))
        + sum(transitions[a, b] for a, b in itertools.pairwise(ids))
        for ids in itertools.product(range(tags), repeat=length)
    }


@pytest.mark.parametrize("time", [1, 4])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("known", [True, False])
def test_crf_is_what_enumeration_says(time, dtype, known):
    rng = np.random.RandomState(0)
    potentials = rng.normal(size=(3, time, 3)).astype(dtype)
    transitions = rng.normal(size=(3, 3)).astype(dtype)
    tags = rng.randint(0, 3, size=(3, time)).astype(np.int32)
    lengths = np.minimum([time, 2, 3], time).astype(np.int32)
    inputs = tf.placeholder_with_default(potentials, [3, time if known else None, 3])
    likelihood, params = crf.crf_log_likelihood(inputs, tags, lengths, tf.constant(transitions))
    decoded = crf.crf_decode(inputs, params, tf.constant(lengths))
    found, gradient, (best, top) = run([likelihood, tf.gradients(likelihood, inputs)[0], decoded])
    assert found.dtype == dtype and np.isfinite(gradient).all()
    for i, length in enumerate(lengths):
        scores = _scores(potentials[i], transitions, length)
        total = np.log(np.sum(np.exp(list(scores.values()))))
        wanted = scores[tuple(tags[i, :length])] - total
        np.testing.assert_allclose(found[i], wanted, rtol=1e-4)
        ids = max(scores, key=scores.get)
        assert tuple(best[i, :length]) == ids
        np.testing.assert_allclose(top[i], scores[ids], rtol=1e-5)
        alone, score = crf.viterbi_decode(potentials[i, :length], transitions)
        assert tuple(alone) == ids
        np.testing.assert_allclose(score, scores[ids], rtol=1e-5)


def test_crf_of_several_allowed_tags():
    rng = np.random.RandomState(0)
    potentials, transitions = rng.normal(size=(1, 3, 3)), rng.normal(size=(3, 3))
    allowed = np.array([[[1, 1, 0], [0, 1, 1], [1, 0, 0]]], bool)
    found = run(crf.crf_multitag_sequence_score(potentials, allowed, [3], transitions))
    scores = _scores(potentials[0], transitions, 3)
    fits = [s for ids, s in scores.items() if all(allowed[0, i, t] for i, t in enumerate(ids))]
    np.testing.assert_allclose(found[0], np.log(np.sum(np.exp(fits))))
