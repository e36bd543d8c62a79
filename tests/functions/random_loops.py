"""Random programs with loops, conditionals and arrays, in the words that TensorFlow and we share.

`build(v1, rng, x)` adds a program to the graph.  TensorFlow's process and ours read this file; `export` is
run by TensorFlow's: it writes GraphDefs with the values that they give there.
"""

import random

import numpy as np

SHAPE = [3, 2]
DEVICES = 3
FEEDS = [
    np.array([[0.3, -0.7], [1.1, 0.2], [-0.4, 0.9]], np.float32),
    np.array([[-0.9, 0.5], [0.1, -1.2], [0.8, 0.6]], np.float32),
]


class Maker:
    """Adds statements.  All values are float32 [3, 2] and stay small; `pool` has those in reach."""

    def __init__(self, v1, rng, devices):
        self.v1, self.rng, self.devices = v1, rng, devices

    def pick(self, pool):
        return self.rng.choice(pool[-4:] if self.rng.random() < 0.7 else pool)

    # -- plain ops -------------------------------------------------------------------------------
    def op(self, pool):
        v1, a, b = self.v1, self.pick(pool), self.pick(pool)
        weights = np.round(np.random.default_rng(self.rng.randrange(99)).normal(size=(2, 2)), 2)
        return self.rng.choice(
            [
                lambda: v1.tanh(a * 1.5),
                lambda: v1.sin(a) + b * 0.3,
                lambda: a * b * 0.4,
                lambda: v1.maximum(a, b),
                lambda: v1.tanh(v1.matmul(a, weights.astype(np.float32))),
                lambda: a - v1.reduce_mean(a, 0, keepdims=True),
                lambda: v1.where(a > b, a, b * 0.5),
                lambda: v1.concat([a[:1], b[1:]], 0),
                lambda: v1.gather(a, [2, 0, 1]),
                lambda: v1.nn.softmax(a) + b * 0.1,
                lambda: a / (1.0 + b * b),
                lambda: v1.stop_gradient(a) * b * 0.5,
                lambda: v1.cumsum(a) * 0.4,
                lambda: v1.cast(v1.cast(a * 3.0, v1.int32), v1.float32) * 0.1 + b * 0.5,
                lambda: v1.transpose(v1.reshape(a, [2, 3])) * 0.7,
                lambda: v1.add_n([a, b, a]) * 0.3,
                lambda: v1.constant(0.3, shape=SHAPE) + v1.sigmoid(b),
            ]
        )()

    def statement(self, pool, depth):
        kinds = [self.op] * 3
        if depth:
            nested = [self.branch, self.loop, self.loop, self.case, self.array, self.mapped,
                      self.scanned, self.folded, self.growing, self.unrolled_state]  # fmt: skip
            kinds += [lambda pool, f=f: f(pool, depth - 1) for f in nested]
        return self.placed(self.rng.choice(kinds), pool)

    def placed(self, make, pool):
        """A statement, perhaps on a device, beside a tensor or after one."""
        v1, way = self.v1, self.rng.randrange(8)
        if way == 0 and self.devices > 1:
            with v1.device(f"/cpu:{self.rng.randrange(self.devices)}"):
                return make(pool)
        if way == 1:
            with v1.control_dependencies([self.pick(pool)]):
                return make(pool)
        if way == 2:
            with v1.colocate_with(self.pick(pool)):
                return make(pool)
        return make(pool)

    def block(self, pool, depth, size=3):
        pool = list(pool)
        for _ in range(self.rng.randint(1, size)):
            pool.append(self.statement(pool, depth))
        return pool[-1]

    # -- branches --------------------------------------------------------------------------------
    def truth(self, pool):
        return self.v1.reduce_sum(self.pick(pool)) > self.rng.choice([-0.5, 0.0, 0.5])

    def branch(self, pool, depth):
        sides = [lambda: self.block(pool, depth, 2), lambda: self.pick(pool) * 1.0]
        self.rng.shuffle(sides)
        return self.v1.cond(self.truth(pool), *sides)

    def case(self, pool, depth):
        pairs = [(self.truth(pool), lambda: self.block(pool, depth, 2)) for _ in range(2)]
        return self.v1.case(pairs, default=lambda: self.pick(pool) * 0.5)

    # -- loops -----------------------------------------------------------------------------------
    def manner(self):
        return {
            "parallel_iterations": self.rng.choice([1, 2, 3, 10, 32]),
            "swap_memory": self.rng.random() < 0.3,
        }

    def loop(self, pool, depth):
        v1, turns, limit = self.v1, self.rng.randrange(5), self.rng.choice([3.0, 30.0])
        first = [self.pick(pool) * 1.0 for _ in range(self.rng.randint(1, 2))]
        more = {"maximum_iterations": self.rng.randrange(5)} if self.rng.random() < 0.3 else {}

        def condition(i, *values):
            if limit == 30.0:
                return i < turns
            return v1.logical_and(i < turns, v1.reduce_sum(v1.abs(values[0])) < limit)

        def body(i, *values):
            inner = [*pool, *values]
            if self.rng.random() < 0.3:
                inner.append(v1.fill(SHAPE, v1.cast(i, v1.float32) * 0.2))
            return [i + 1, *(self.block(inner, depth, 2) for _ in values)]

        return v1.while_loop(condition, body, [0, *first], **self.manner(), **more)[1]

    def growing(self, pool, depth):
        v1, turns = self.v1, self.rng.randrange(4)

        def body(i, rows):
            return i + 1, v1.concat([rows, self.block([*pool, rows[:3]], 0, 1)[:1]], 0)

        shapes = [v1.TensorShape([]), v1.TensorShape([None, 2])]
        rows = v1.while_loop(
            lambda i, _: i < turns, body, [0, self.pick(pool)], shape_invariants=shapes, **self.manner()
        )[1]
        return v1.reshape(rows[-3:], SHAPE)

    def array(self, pool, depth):
        v1, turns = self.v1, self.rng.randint(1, 4)
        reads = self.rng.random() < 0.5
        dynamic = self.rng.random() < 0.4
        store = v1.TensorArray(
            v1.float32,
            size=0 if dynamic else turns,
            dynamic_size=dynamic,
            clear_after_read=not reads,
            element_shape=SHAPE,
        )
        start = self.pick(pool)

        def body(i, value, store):
            inner = [*pool, value]
            if reads:
                inner.append(v1.cond(i > 0, lambda: store.read(i - 1), lambda: start * 1.0))
            value = self.block(inner, depth, 2)
            return i + 1, value, store.write(i, value)

        _, last, store = v1.while_loop(lambda i, *_: i < turns, body, [0, start, store], **self.manner())
        way = self.rng.randrange(5)
        if way == 0:
            return v1.reduce_mean(store.stack(), 0)
        if way == 1:
            return store.gather([turns - 1, 0])[1] + last * 0.1
        if way == 2:
            return store.concat()[:3]
        if way == 3:
            return store.read(turns // 2) * 0.7
        return v1.tanh(v1.reduce_sum(store.stack(), 0))

    def mapped(self, pool, depth):
        v1, x = self.v1, self.pick(pool)
        other = self.pick(pool)
        return v1.map_fn(
            lambda row: v1.tanh(row * self.rng.choice([0.5, 2.0])) + v1.reduce_mean(other, 0),
            x,
            **self.manner(),
        )

    def scanned(self, pool, depth):
        v1, x, other = self.v1, self.pick(pool), self.pick(pool)
        return v1.scan(
            lambda a, row: v1.tanh(a * 0.5 + row * other[0]),
            x,
            **self.manner(),
            reverse=self.rng.random() < 0.5,
        )

    def folded(self, pool, depth):
        v1, x, start = self.v1, self.pick(pool), self.pick(pool)
        fold = self.rng.choice([v1.foldl, v1.foldr])
        return fold(lambda a, row: v1.sin(a + row), x, initializer=start, **self.manner())

    def unrolled_state(self, pool, depth):
        """dynamic_rnn over the rows, with lengths."""
        v1, x, start = self.v1, self.pick(pool), self.pick(pool)

        class Cell:
            output_size = state_size = 2

            def zero_state(self, batch_size, dtype):
                return v1.zeros([batch_size, 2], dtype)

            def __call__(self, inputs, state, scope=None):
                state = v1.tanh(inputs + state * 0.5)
                return state, state

        lengths = [self.rng.randint(0, 3)]
        outputs, state = v1.nn.dynamic_rnn(
            Cell(), x[None] if x.shape.ndims == 2 else x, lengths, start[:1], **self.manner()
        )
        return outputs[0] + state * 0.2


def build(v1, rng, x, devices=1):
    """A program: [3, 2] -> [3, 2]."""
    maker = Maker(v1, rng, devices)
    pool = [x, x * 0.5]
    for _ in range(rng.randint(2, 4)):
        pool.append(maker.statement(pool, 2))
    return v1.add_n(pool[1:]) * 0.5


def export(tf, seeds, form, devices=DEVICES):
    """(GraphDef, values of y and its gradients for each feed) of programs; form: v1, v2 or traced."""
    v1 = tf.compat.v1
    (v1.enable_control_flow_v2 if form != "v1" else v1.disable_control_flow_v2)()
    found = []
    for seed in seeds:
        with tf.Graph().as_default() as graph:
            x = v1.placeholder(tf.float32, SHAPE, name="x")
            rng = random.Random(seed)
            if form == "traced":
                y = tf.function(lambda x: build(v1, rng, x), autograph=False)(x)
            else:
                y = build(v1, rng, x, devices)
            y = tf.identity(y, name="y")
            forward = graph.as_graph_def().SerializeToString()
            wanted = [y, tf.identity(v1.gradients(v1.reduce_sum(y * y), x)[0], name="slope")]
            first = graph.as_graph_def().SerializeToString()
            if form != "v1":
                wanted.append(v1.gradients(v1.reduce_sum(wanted[1] * FEEDS[0]), x)[0])
            config = v1.ConfigProto(device_count={"CPU": devices}, allow_soft_placement=True)
            # Its optimizer takes a loop variable that grows for one of its first shape.
            config.graph_options.rewrite_options.disable_meta_optimizer = True
            with v1.Session(config=config) as session:
                runs = [values(tf, session, wanted, {x: f}) for f in FEEDS]
            if all(runs):
                found.append((seed, forward, first, runs))
    return found


def values(tf, session, wanted, feeds):
    """As many as TensorFlow can compute: of arrays that grow in a loop it has no gradients, and some
    graphs that it made it can not load."""
    found = [w for w in wanted if w is not None]
    for count in range(len(found), 0, -1):
        try:
            return session.run(found[:count], feeds)
        except tf.errors.InvalidArgumentError:
            pass
    return []
