"""Write the golden SavedModels with TensorFlow 2.21:
PYTHON_WITH_TENSORFLOW tests/train/make_golden_models.py"""

from __future__ import annotations

import os
import shutil

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf

OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden")
X = np.array([[1.0, 2.0, 3.0]], np.float32)
v1 = tf.compat.v1


def by_v1(folder):
    with tf.Graph().as_default(), v1.Session() as sess:
        x = v1.placeholder(tf.float32, [None, 3])
        w = v1.get_variable("w", initializer=np.arange(6, dtype=np.float32).reshape(3, 2))
        y = tf.nn.softmax(tf.matmul(x, w) / 10)
        sess.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(sess, folder, {"x": x}, {"y": y})
        return sess.run(y, {x: X})


class Model(tf.Module):
    def __init__(self):
        super().__init__()
        self.w = tf.Variable(np.arange(6, dtype=np.float32).reshape(3, 2))

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32)])
    def __call__(self, x):
        y = tf.matmul(x, self.w)
        for _ in tf.range(3):
            if tf.reduce_sum(y) > 10.0:
                y = y * 0.5
            else:
                y = y + 1.0
        return {"y": y}


def by_v2(folder):
    model = Model()
    tf.saved_model.save(model, folder, signatures=model.__call__)
    os.remove(os.path.join(folder, "fingerprint.pb"))
    return model(X)["y"].numpy()


for name, make in (("tf1", by_v1), ("tf2", by_v2)):
    shutil.rmtree(os.path.join(OUT, name), ignore_errors=True)
    np.save(os.path.join(OUT, f"{name}.npy"), make(os.path.join(OUT, name)))
