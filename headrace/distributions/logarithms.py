"""Sums of weighted exponentials as logarithms, and the inverse of softplus, without loss at the ends."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.functions.array.array import ones_like, squeeze, zeros_like
from headrace.functions.array.indexing import where_v2
from headrace.functions.math.elementwise import abs_, sign
from headrace.functions.math.reduce import reduce_logsumexp, reduce_max, reduce_sum
from headrace.functions.platform.scopes import name_scope
from headrace.functions.values.conversion import convert_to_tensor
from headrace.ops.math.arithmetic import exp, expm1, log
from headrace.ops.math.comparison import greater, is_inf, less
from headrace.ops.math.logical import logical_or


def softplus_inverse(x: Any, name: str | None = None) -> Any:
    """y with softplus(y) = x."""
    with name_scope(name, "softplus_inverse", values=[x]):
        x = convert_to_tensor(x, name="x")
        threshold = np.log(np.finfo(x.dtype.as_numpy_dtype).eps) + 2.0
        small, large = less(x, np.exp(threshold)), greater(x, -threshold)
        at_small = log(x)
        inner = where_v2(logical_or(small, large), ones_like(x), x)  # keeps gradients finite
        between = inner + log(-expm1(-inner))
        return where_v2(small, at_small, where_v2(large, x, between))


def reduce_weighted_logsumexp(
    logx: Any,
    w: Any = None,
    axis: Any = None,
    keep_dims: bool = False,
    return_sign: bool = False,
    name: str | None = None,
) -> Any:
    """log(abs(sum(w * exp(logx)))), and the sum's sign if wanted."""
    with name_scope(name, "reduce_weighted_logsumexp", [logx, w]):
        logx = convert_to_tensor(logx, name="logx")
        if w is None:
            total = reduce_logsumexp(logx, axis=axis, keepdims=keep_dims)
            return (total, ones_like(total)) if return_sign else total
        w = convert_to_tensor(w, dtype=logx.dtype, name="w")
        terms = logx + log(abs_(w))
        most = reduce_max(terms, axis=axis, keepdims=True)
        most = where_v2(is_inf(most), zeros_like(most), most)
        summed = reduce_sum(sign(w) * exp(terms - most), axis=axis, keepdims=keep_dims)
        if not keep_dims:
            most = squeeze(most, axis)
        signs = sign(summed)
        total = most + log(signs * summed)
        return (total, signs) if return_sign else total
