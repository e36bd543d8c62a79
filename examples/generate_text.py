"""A small transformer that learns a rhyme and recites it: text, one character after the other.

Generation is a `tf.while_loop`.  Each step gets one character and the *past*: the keys and values that
every layer has computed for the characters before, so nothing is computed twice.  The next character is
drawn from the `top_k` most likely ones, after their scores are divided by the temperature.

    headrace run examples/generate_text.py
"""

import numpy as np
import tensorflow as tf

TEXT = """twinkle, twinkle, little star,
how i wonder what you are!
"""
LETTERS = sorted(set(TEXT))
LAYERS, HEADS, WIDTH, LONGEST = 2, 2, 32, len(TEXT)


def dense(x, size, name):
    depth = x.shape[-1].value
    with tf.variable_scope(name):
        small = tf.random_normal_initializer(0, 0.1)
        kernel = tf.get_variable("kernel", [depth, size], initializer=small)
        bias = tf.get_variable("bias", [size], initializer=tf.zeros_initializer())
    return tf.tensordot(x, kernel, 1) + bias


def normalized(x, name):
    with tf.variable_scope(name):
        gain = tf.get_variable("gain", [WIDTH], initializer=tf.ones_initializer())
        shift = tf.get_variable("shift", [WIDTH], initializer=tf.zeros_initializer())
    mean, variance = tf.nn.moments(x, [-1], keepdims=True)
    return (x - mean) * tf.rsqrt(variance + 1e-5) * gain + shift


def in_heads(x):
    """[batch, time, width] -> [batch, heads, time, width / heads]"""
    sizes = tf.shape(x)
    parts = tf.reshape(x, [sizes[0], sizes[1], HEADS, WIDTH // HEADS])
    return tf.transpose(parts, [0, 2, 1, 3])


def attention(x, past):
    """Each place looks at itself and at those before it.  Returns the keys and values, too: what is
    `past` for the places that follow."""
    query, key, value = (in_heads(part) for part in tf.split(dense(x, 3 * WIDTH, "qkv"), 3, -1))
    present = tf.stack([key, value], 1)  # [batch, 2, heads, time, width / heads]
    if past is not None:
        present = tf.concat([past, present], 3)
    key, value = tf.unstack(present, axis=1)
    scores = tf.matmul(query, key, transpose_b=True) / np.sqrt(WIDTH // HEADS)
    here, all_places = tf.shape(query)[2], tf.shape(key)[2]
    places = tf.range(all_places)
    hidden = tf.to_float(places > tf.expand_dims(places[all_places - here :], 1))
    scores -= 1e9 * hidden
    mixed = tf.transpose(tf.matmul(tf.nn.softmax(scores), value), [0, 2, 1, 3])
    return dense(tf.reshape(mixed, tf.shape(x)), WIDTH, "out"), present


def model(letters, past=None):
    """Scores of the next letter at every place, and the past of what follows.

    letters: [batch, time].  past: [batch, layers, 2, heads, time before, width / heads].
    """
    with tf.variable_scope("model", reuse=tf.AUTO_REUSE):
        small = tf.random_normal_initializer(0, 0.1)
        table = tf.get_variable("letters", [len(LETTERS), WIDTH], initializer=small)
        places = tf.get_variable("places", [LONGEST, WIDTH], initializer=small)
        start = 0 if past is None else tf.shape(past)[4]
        x = tf.gather(table, letters)
        x += tf.gather(places, start + tf.range(tf.shape(letters)[1]))
        x.set_shape([None, None, WIDTH])
        presents = []
        for i in range(LAYERS):
            with tf.variable_scope(f"layer_{i}"):
                before = None if past is None else past[:, i]
                seen, present = attention(normalized(x, "norm_1"), before)
                x += tf.reshape(seen, tf.shape(x))
                hidden = tf.nn.relu(dense(normalized(x, "norm_2"), 4 * WIDTH, "grow"))
                x += dense(hidden, WIDTH, "shrink")
                presents.append(present)
        scores = tf.tensordot(normalized(x, "norm"), tf.transpose(table), 1)
    return scores, tf.stack(presents, 1)


def chosen(scores, temperature, top_k):
    """Draw a letter for each row of scores from its `top_k` best."""
    best, letters = tf.nn.top_k(scores / temperature, top_k)
    drawn = tf.multinomial(best, 1, output_dtype=tf.int32)
    return tf.batch_gather(letters, drawn)


def generated(beginning, count, temperature=1.0, top_k=1):
    """`beginning` [batch, time] and `count` letters more."""
    scores, past = model(beginning)
    first = chosen(scores[:, -1], temperature, top_k)

    def body(letters, last, past):
        scores, present = model(last, past)
        following = chosen(scores[:, -1], temperature, top_k)
        return [tf.concat([letters, following], 1), following, present]

    shape = [None, LAYERS, 2, HEADS, None, WIDTH // HEADS]
    letters, _, _ = tf.while_loop(
        lambda *_: True,
        body,
        [tf.concat([beginning, first], 1), first, past],
        shape_invariants=[tf.TensorShape(s) for s in ([None, None], [None, None], shape)],
        maximum_iterations=count - 1,
        back_prop=False,
    )
    return letters


def without_past(beginning, count):
    """The same with `top_k` 1, all computed anew for every letter: to compare."""

    def body(letters):
        scores, _ = model(letters)
        best = tf.argmax(scores[:, -1:], -1, output_type=tf.int32)
        return tf.concat([letters, best], 1)

    return tf.while_loop(
        lambda _: True,
        body,
        [beginning],
        shape_invariants=[tf.TensorShape([None, None])],
        maximum_iterations=count,
        back_prop=False,
    )


def as_text(letters):
    return "".join(LETTERS[i] for i in letters)


def main():
    tf.set_random_seed(1)
    rhyme = np.array([[LETTERS.index(c) for c in TEXT]])
    given = tf.placeholder(tf.int32, [None, None])
    scores, _ = model(given[:, :-1])
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=given[:, 1:], logits=scores)
    loss = tf.reduce_mean(losses)
    train = tf.train.AdamOptimizer(0.005).minimize(loss)
    beginning = tf.placeholder(tf.int32, [None, None])
    count = LONGEST - 4  # after the first four letters
    best = generated(beginning, count)
    plain = without_past(beginning, count)
    varied = generated(beginning, 40, temperature=1.5, top_k=4)

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for step in range(61):
            _, now = session.run([train, loss], {given: rhyme})
            if step % 20 == 0:
                print(f"step {step}: loss {now:.3f}")
        feeds = {beginning: rhyme[:, :4]}
        [recited] = session.run(best, feeds)
        print(as_text(recited))
        assert as_text(recited) == TEXT, "it has not learnt the rhyme"
        np.testing.assert_array_equal(session.run(plain, feeds)[0], recited)
        two = session.run(varied, {beginning: np.repeat(rhyme[:, :4], 2, 0)})
        print("with some freedom:", *(repr(as_text(letters)) for letters in two), sep="\n  ")


if __name__ == "__main__":
    main()
