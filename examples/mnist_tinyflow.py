"""Softmax regression in TinyFlow's form: the gradient and the update are written by hand."""

import os
import sys

import numpy as np
import tinyflow as tf
from tinyflow.datasets import get_mnist

if len(sys.argv) > 1:
    os.environ["HEADRACE_DATA"] = sys.argv[1]

x = tf.placeholder(tf.float32, [None, 784])
W = tf.Variable(tf.zeros([784, 10]))
y = tf.nn.softmax(tf.matmul(x, W))
y_ = tf.placeholder(tf.float32, [None, 10])
cross_entropy = tf.reduce_mean(-tf.reduce_sum(y_ * tf.log(y), reduction_indices=[1]))

learning_rate = 0.5
W_grad = tf.gradients(cross_entropy, [W])[0]
train_step = tf.assign(W, W - learning_rate * W_grad)

sess = tf.Session()
sess.run(tf.initialize_all_variables())
mnist = get_mnist(flatten=True, onehot=True)
for i in range(1000):
    batch_xs, batch_ys = mnist.train.next_batch(100)
    sess.run(train_step, feed_dict={x: batch_xs, y_: batch_ys})

predicted = np.argmax(sess.run(y, {x: mnist.test.images}), axis=1)
accuracy = np.mean(predicted == np.argmax(mnist.test.labels, axis=1))
print("accuracy", accuracy)
assert accuracy > 0.88
