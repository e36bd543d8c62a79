"""What programs about the order of state are made of."""

from __future__ import annotations

from typing import Any

import numpy as np

import headrace as tf

MODES = {"interpreted": "0", "compiled": "always", "as usual": "1"}


def variable(value: Any, use_resource: bool = False) -> Any:
    name = f"v{len(tf.global_variables())}"
    return tf.get_variable(name, initializer=np.float32(value), use_resource=use_resource)


def steps(fetch: Any, count: int = 4, **config: Any) -> list[Any]:
    """What `count` steps give."""
    with tf.Session(config=tf.ConfigProto(**config)) as session:
        session.run(tf.global_variables_initializer())
        found = [session.run(fetch) for _ in range(count)]
    return [tf.contrib.framework.nest.map_structure(plain, f) for f in found]


def plain(value: Any) -> Any:
    return value if value is None else np.asarray(value).tolist()


def unknown(value: bool) -> Any:
    """A condition that nobody can fold."""
    return tf.equal(tf.placeholder_with_default(1.0, []), float(value))
