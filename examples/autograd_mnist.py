"""Softmax regression in autograd's form: an ordinary function of NumPy, and its gradient by tracing."""

import os
import sys

import autograd.numpy as np
from autograd import grad
from tinyflow.datasets import get_mnist

if len(sys.argv) > 1:
    os.environ["HEADRACE_DATA"] = sys.argv[1]


def softmax(x):
    x = x - np.max(x, axis=1, keepdims=True)
    x = np.exp(x)
    x = x / np.sum(x, axis=1, keepdims=True)
    return x


def cross_entropy_loss(y, y_):
    return -np.sum(y_ * np.log(y))


def loss(W, batch_xs, batch_ys):
    y = softmax(np.dot(batch_xs, W))
    return cross_entropy_loss(y, batch_ys)


# get the mnist dataset
mnist = get_mnist(flatten=True, onehot=True)
learning_rate = 0.5 / 100
W = np.zeros((784, 10))
for i in range(1000):
    batch_xs, batch_ys = mnist.train.next_batch(100)
    W_grad = grad(loss, argnum=0)(W, batch_xs, batch_ys)
    # update
    W = W - learning_rate * W_grad

predicted = np.argmax(np.dot(mnist.test.images, W), axis=1)
accuracy = np.mean(predicted == np.argmax(mnist.test.labels, axis=1))
print("accuracy", accuracy)
assert accuracy > 0.88
