"""Samples of convolutions and of their gradients, from cases (data_format, input, filter, attributes).

`plain` are the attributes where a case says nothing; `output(x, w, attributes, data_format)` is the shape
that the convolution itself gives.
"""

from __future__ import annotations

import numpy as np

from headrace.ops.declaration.samples import Sample


def of_forward(rng, cases, plain):
    for data_format, x, w, chosen in cases:
        yield Sample(rng.normal(size=x), rng.normal(size=w), data_format=data_format, **plain | chosen)


def of_input_gradient(rng, cases, plain, output):
    for data_format, x, w, chosen in cases:
        dy = rng.normal(size=output(x, w, chosen, data_format))
        yield Sample(np.array(x, np.int32), rng.normal(size=w), dy, data_format=data_format, **plain | chosen)


def of_filter_gradient(rng, cases, plain, output):
    for data_format, x, w, chosen in cases:
        dy = rng.normal(size=output(x, w, chosen, data_format))
        yield Sample(rng.normal(size=x), np.array(w, np.int32), dy, data_format=data_format, **plain | chosen)
