"""Fit a line to noisy points by gradient descent."""

import numpy as np
import tensorflow as tf

x = tf.placeholder(shape=[None], dtype=tf.float32, name="x")
y_label = tf.placeholder(shape=[None], dtype=tf.float32, name="y_label")
W = tf.get_variable(shape=[], name="W")
b = tf.get_variable(shape=[], name="b")
y = W * x + b
loss = tf.reduce_mean(tf.square(y - y_label))
train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)

rng = np.random.RandomState(0)
with tf.Session() as sess:
    sess.run(tf.initialize_all_variables())
    for i in range(201):
        x_data = rng.rand(100).astype(np.float32)
        y_data = 0.3 * x_data + 0.15 + 0.01 * rng.randn(100).astype(np.float32)
        _, error = sess.run([train, loss], feed_dict={x: x_data, y_label: y_data})
        if i % 50 == 0:
            print("step %3d  loss %.5f  W %.3f  b %.3f" % (i, error, *sess.run([W, b])))
    slope, offset = sess.run([W, b])
assert abs(slope - 0.3) < 0.02 and abs(offset - 0.15) < 0.02
