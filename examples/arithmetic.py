"""Multiply, add, divide: a graph of three nodes."""

import tensorflow as tf

a = tf.constant(15, name="a")
b = tf.constant(5, name="b")
product = tf.multiply(a, b, name="Multiply")
total = tf.add(a, b, name="Add")
result = tf.divide(product, total, name="Divide")

with tf.Session() as sess:
    print("a * b / (a + b) =", sess.run(result))
