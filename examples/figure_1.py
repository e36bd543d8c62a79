"""Figure 1 of the TensorFlow white paper: build relu(W x + b) once, run its cost again and again."""

import numpy as np
import tensorflow as tf

b = tf.Variable(tf.zeros([100]))  # 100-d vector, zeros
W = tf.Variable(tf.random_uniform([784, 100], -1, 1))  # 784x100 matrix with random values
x = tf.placeholder(tf.float32, name="x")  # placeholder for the input
relu = tf.nn.relu(tf.matmul(x, W) + b)
C = tf.reduce_sum(relu)  # a cost, computed as a function of relu

s = tf.Session()
s.run(tf.initialize_all_variables())
rng = np.random.RandomState(1)
for step in range(3):
    batch = rng.rand(10, 784).astype(np.float32) - 0.5  # a 784-d vector for each input
    result = s.run(C, feed_dict={x: batch})
    print(step, result)
    assert result > 0
