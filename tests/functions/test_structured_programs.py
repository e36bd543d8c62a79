"""Random programs of nested loops and conditionals: the graph computes what Python does, and its
gradient is the derivative that Python carries along."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace as tf

pytestmark = pytest.mark.pure

NAMES = ("a", "b", "c")
names = st.sampled_from(NAMES)
expressions = st.one_of(
    st.tuples(st.just("add"), names, names),
    st.tuples(st.just("mul"), names, names),
    st.tuples(st.just("sub"), names, names),
    st.tuples(st.just("tanh"), names),
    st.tuples(st.just("scale"), names, st.sampled_from([0.5, -1.0, 0.25])),
)
assignments = st.tuples(st.just("set"), names, expressions)


def nested(inner):
    block = st.lists(inner, min_size=1, max_size=3)
    condition = st.tuples(names, st.sampled_from([-0.5, 0.0, 0.3]))
    return st.one_of(
        st.tuples(st.just("if"), condition, block, block),
        st.tuples(st.just("loop"), st.integers(0, 3), block),
        st.tuples(st.just("until"), condition, st.integers(1, 3), block),
    )


statements = st.recursive(assignments, nested, max_leaves=8)
programs = st.lists(statements, min_size=1, max_size=4)


# -- Python: values with their derivatives --------------------------------------------------------
def evaluate(expression, state):
    match expression:
        case "add", x, y:
            return tuple(p + q for p, q in zip(state[x], state[y]))
        case "sub", x, y:
            return tuple(p - q for p, q in zip(state[x], state[y]))
        case "mul", x, y:
            (p, dp), (q, dq) = state[x], state[y]
            return p * q, dp * q + p * dq
        case "tanh", x:
            value = math.tanh(state[x][0])
            return value, (1 - value * value) * state[x][1]
        case "scale", x, factor:
            return tuple(factor * p for p in state[x])


def run(block, state):
    for statement in block:
        match statement:
            case "set", name, expression:
                # tanh keeps values where they neither overflow nor lose all precision
                state = state | {name: evaluate(expression, state)}
            case "if", (name, limit), then, otherwise:
                state = run(then if state[name][0] > limit else otherwise, state)
            case "loop", count, body:
                for _ in range(count):
                    state = run(body, state)
            case "until", (name, limit), most, body:
                for _ in range(most):
                    if state[name][0] > limit:
                        break
                    state = run(body, state)
    return state


# -- the graph ------------------------------------------------------------------------------------
def tensor(expression, state):
    match expression:
        case "add", x, y:
            return state[x] + state[y]
        case "sub", x, y:
            return state[x] - state[y]
        case "mul", x, y:
            return state[x] * state[y]
        case "tanh", x:
            return tf.tanh(state[x])
        case "scale", x, factor:
            return state[x] * factor


def packed(values):
    return dict(zip(NAMES, values))


def flat(state):
    return [state[name] for name in NAMES]


def build(block, state):
    for statement in block:
        match statement:
            case "set", name, expression:
                state = state | {name: tensor(expression, state)}
            case "if", (name, limit), then, otherwise:
                before = state
                state = packed(
                    tf.cond(
                        before[name] > limit,
                        lambda: flat(build(then, before)),
                        lambda: flat(build(otherwise, before)),
                    )
                )
            case "loop", count, body:
                state = loop(lambda *_: True, count, body, state)
            case "until", (name, limit), most, body:
                place = NAMES.index(name)
                state = loop(lambda *v: v[place] <= limit, most, body, state)
    return state


def loop(goes_on, count, body, state):
    def step(i, values):
        return i + 1, flat(build(body, packed(values)))

    def condition(i, values):
        return tf.logical_and(i < count, goes_on(*values))

    _, values = tf.while_loop(condition, step, (tf.constant(0), flat(state)))
    return packed(values)


@settings(max_examples=40)
@given(programs, st.tuples(*[st.floats(-1, 1, width=16)] * 3))
def test_a_program_means_what_python_says(program, start):
    first = {name: (float(v), 1.0 if name == "a" else 0.0) for name, v in zip(NAMES, start)}
    wanted = run(program, first)
    with tf.Graph().as_default(), tf.Session() as session:
        inputs = packed([tf.placeholder(tf.float64, []) for _ in NAMES])
        found = flat(build(program, inputs))
        feeds = {inputs[name]: value for name, value in zip(NAMES, start)}
        total = tf.add_n([x * weight for x, weight in zip(found, (1.0, 2.0, 3.0))])
        grad = tf.gradients(total, inputs["a"])[0]
        values = session.run(found, feeds)
        np.testing.assert_allclose(values, [wanted[name][0] for name in NAMES], rtol=1e-9, atol=1e-12)
        derivative = sum(w * wanted[name][1] for name, w in zip(NAMES, (1.0, 2.0, 3.0)))
        got = 0.0 if grad is None else session.run(grad, feeds)
        np.testing.assert_allclose(got, derivative, rtol=1e-8, atol=1e-10)
