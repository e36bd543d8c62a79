"""From a line of Python to native code: the path of one step, every stage printed as it is made.

    python docs/from_scratch.py

Read it beside ARCHITECTURE.md, which has the same path as a table.  The functions that are called here
are the ones that `Session.run` calls, in the same order (`session/run_cache.py`).
"""

import os
import sys

os.environ["HEADRACE_SHOW"] = "regions,kernels,memory"  # stages 7 to 9 print themselves
os.environ["HEADRACE_COMPILE"] = "always"  # a region this small would wait for its second step
sys.stderr = sys.stdout

import numpy as np

import headrace as tf
from headrace.devices import cpu, reference
from headrace.partition.split import split
from headrace.passes.pipeline import PIPELINE
from headrace.placement.place import place
from headrace.plan.prune import prune
from headrace.plan.text import to_text
from headrace.runtime.containers import Containers
from headrace.runtime.step import Step

DEVICE = "/job:localhost/replica:0/task:0/device:CPU:0"


def stage(number, title, why):
    print(f"\n=== {number}. {title}\n    {why}\n")


stage(1, "A graph", "Calls compute nothing: each adds a node, with its type, its shape and your line.")
x = tf.placeholder(tf.float32, [None, 3], name="x")
w = tf.get_variable("w", [3, 2], initializer=tf.ones_initializer(), use_resource=True)
y = tf.matmul(x, w, name="y")
loss = tf.reduce_sum(y * y, name="loss")
graph = tf.get_default_graph()
for node in (x.op, y.op, loss.op):
    print(f"{node.name:6} {node.type:12} {node.outputs[0].shape!s:8} made at {node.origin}")

stage(2, "Its gradient", "More nodes.  Each op's block says how; the graph is walked backwards once.")
before = len(graph.get_operations())
(gradient,) = tf.gradients(loss, [w])
train = w.assign_sub(0.1 * gradient, name="train")
for node in graph.get_operations()[before:]:
    print(f"{node.type:14} {node.name}")

stage(3, "A plan", "For one signature, what is fed and what is fetched: only what these need.")
feeds, fetches = [x], [loss]
plan = prune(graph, feeds, fetches, [train.op])
print(to_text(plan))

stage(4, "Places", "Every node gets a device: what it asks for, or what it can do with.")
plan = place(plan, (DEVICE,))
print({node.device for node in plan.nodes.values()})

stage(5, "Passes", "A plan in, a better plan out.")
for rewrite in PIPELINE:
    count, plan = len(plan.nodes), rewrite(plan)
    print(f"{rewrite.__name__:20} {count:3} -> {len(plan.nodes)} nodes")
print()
print(to_text(plan).replace(f" @{DEVICE}", ""))

stage(6, "Pieces", "One for each device; edges between devices become Send and Recv.  Here is one device.")
pieces = split(plan)
for piece in pieces:
    print(f"{piece.device}: {len(piece.plan.nodes)} nodes")

stage(7, "A program", "The device finds regions that compile; the rest would run op by op, in Python.")
program = cpu.prepare(pieces[0].plan)

stage(8, "A step", "Shapes are known now: loops are fused, memory is planned, LLVM and oneDNN called.")
containers = Containers()  # where the variables of a session live
initial = place(prune(graph, [], [], [w.initializer]), (DEVICE,))
reference.prepare(split(initial)[0].plan).run(Step(containers), [])  # w = ones, in NumPy
images = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
(value,) = program.run(Step(containers), [images])
print("loss", value)

stage(9, "The same, as a user says it", "A session remembers the program: the next step is one look-up.")
with tf.Session() as session:
    session.run(w.initializer)
    got, _ = session.run([loss, train.op], {x: images})
    print("loss", got, "then", session.run(loss, {x: images}))
assert got == value == 2 * (6**2 + 15**2)
