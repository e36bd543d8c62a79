"""One layer, relu(x W + b), fed with a random input."""

import numpy as np
import tensorflow as tf

b = tf.Variable(tf.zeros((100,)))
W = tf.Variable(tf.random_uniform((784, 100), -1, 1))
x = tf.placeholder(tf.float32, (1, 784))
h = tf.nn.relu(tf.matmul(x, W) + b)

sess = tf.Session()
sess.run(tf.global_variables_initializer())
out = sess.run(h, {x: np.random.RandomState(0).rand(1, 784)})
print("shape", out.shape, "smallest", out.min(), "active", int((out > 0).sum()))
assert out.shape == (1, 100) and out.min() >= 0
