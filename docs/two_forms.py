"""Imperative and declarative, and where they meet: one function of Python, said in each form.

    python docs/two_forms.py

An imperative program computes while it is read, and a record of what it did gives the derivative: a
scalar that
remembers (MiniTorch), a trace (autograd), a tape (eager mode).  A declarative one builds a graph first.
`tf.function` is where they meet: the imperative function is run once, what it does becomes a plan, and
the plan is what runs.
"""

import numpy as np

import headrace as tf
import headrace.autograd.numpy as anp
from headrace import minitorch
from headrace.autograd import grad
from headrace.autograd.misc import full_graph
from headrace.autograd.util import toposort
from headrace.plan.prune import prune
from headrace.plan.text import to_text


def title(number: int, text: str) -> None:
    print(f"\n=== {number}. {text}")


title(1, "MiniTorch: a number remembers what it was made of")
x = minitorch.Scalar(3.0)
y = x * x + 2.0 * x
print("made by", y.history.last_fn.__name__, "of", [s.data for s in y.history.inputs])
y.backward()
print("dy/dx =", x.derivative)

title(2, "MiniTorch: a view is other strides over the same storage")
t = minitorch.tensor([[1, 2, 3], [4, 5, 6]])
turned = t.permute(1, 0)
print(
    t._tensor.strides, turned._tensor.strides, "one storage:", t._tensor._storage is turned._tensor._storage
)

title(3, "autograd: an ordinary function of NumPy, traced as it runs")


def f(x):
    return x * x + 2.0 * x


def steps(v):
    while anp.sum(v) < 100.0:  # Python decides, by values
        v = f(v)
    return anp.sum(v)


end = full_graph(f, 3.0)
print("recorded:", [n.fun.__name__ for n in list(toposort(end))[::-1] if n.fun is not None])
print("df/dx =", grad(f)(3.0), "and of the loop:", grad(steps)(np.array([0.5, 1.0])))

title(4, "Eager mode: ops run when they are called, and a tape watches")
tf.enable_eager_execution()
v = tf.constant(3.0)
with tf.GradientTape() as tape:
    tape.watch(v)
    z = f(v)
print("z =", z.numpy(), "dz/dv =", tape.gradient(z, v).numpy())

title(5, "tf.function: the same Python, run once, becomes a graph")


@tf.function
def both(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return y, tape.gradient(y, x)


concrete = both.get_concrete_function(tf.TensorSpec([], tf.float32))
print("nodes:", [n.type for n in concrete.graph.get_operations()])
print("values:", [r.numpy() for r in both(v)])

title(6, "... whose plan holds value and derivative together")
graph = concrete.graph
print(to_text(prune(graph, graph.inputs, graph.outputs, [])))
