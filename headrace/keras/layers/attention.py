"""Attention: means of values, weighted by how well their keys fit a query."""

from __future__ import annotations

from typing import Any

from headrace.layers import ops
from headrace.layers.engine.config import floatx
from headrace.layers.engine.layer import Layer


class _Attention(Layer):
    """What both share: inputs are [query, value] or [query, value, key].

    Args:
      use_scale: learn a scale of the scores?
      causal: may a query see values at later places?
      **kwargs: as of Layer.
    """

    scale: Any = None

    def __init__(self, use_scale: bool = False, causal: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.use_scale, self.causal = use_scale, causal
        self.supports_masking = True

    def _calculate_scores(self, query: Any, key: Any) -> Any:
        raise NotImplementedError

    def _apply_scores(self, scores: Any, value: Any, scores_mask: Any = None) -> Any:
        """The mean of values by scores, of those that the mask allows."""
        if scores_mask is not None:
            scores = scores - 1.0e9 * ops.cast(ops.logical_not(scores_mask), floatx())
        return ops.matmul(ops.softmax(scores), value)

    def call(self, inputs: Any, mask: Any = None) -> Any:  # type: ignore[override]
        self._check(inputs, mask)
        query, value = inputs[0], inputs[1]
        scores = self._calculate_scores(query=query, key=inputs[2] if len(inputs) > 2 else value)
        allowed = None
        if mask and mask[1] is not None:
            allowed = ops.expand_dims(mask[1], axis=-2)
        if self.causal:
            shape = ops.shape(scores)
            earlier = _lower_triangle(ops.concat([ops.ones_like(shape[:-2]), shape[-2:]], axis=0))
            allowed = earlier if allowed is None else ops.logical_and(allowed, earlier)
        outputs = self._apply_scores(scores=scores, value=value, scores_mask=allowed)
        if mask and mask[0] is not None:
            outputs = outputs * ops.cast(ops.expand_dims(mask[0], axis=-1), outputs.dtype)
        return outputs

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        self._check(inputs, mask)
        return None if not mask or mask[0] is None else ops.convert_to_tensor(mask[0])

    def _check(self, inputs: Any, mask: Any) -> None:
        name = type(self).__name__
        if not isinstance(inputs, list):
            raise ValueError(
                f"{name} layer must be called on a list of inputs, namely [query, value] or [query, value, "
                "key]."
            )
        if len(inputs) not in (2, 3):
            raise ValueError(
                f"{name} layer accepts inputs list of length 2 or 3, namely [query, value] or [query, value, "
                f"key]. Given length: {len(inputs)}"
            )
        if mask:
            if not isinstance(mask, list):
                raise ValueError(f"{name} layer mask must be a list, namely [query_mask, value_mask].")
            if len(mask) != 2:
                raise ValueError(
                    f"{name} layer mask must be a list of length 2, namely [query_mask, value_mask]. Given "
                    "length: "
                    f"{len(mask)}"
                )

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"causal": self.causal, "use_scale": self.use_scale}


def _lower_triangle(shape: Any) -> Any:
    ones = ops.ones(shape, ops.dtypes.int32)
    return ops.greater_equal(ops.cumsum(ones, axis=-2), ops.cumsum(ones, axis=-1))


class Attention(_Attention):
    """Scores are products of query and key (Luong and others 2015)."""

    def build(self, input_shape: Any) -> None:
        if self.use_scale:
            self.scale = self.add_weight(
                "scale", shape=(), initializer="ones", dtype=self.dtype, trainable=True
            )
        self.built = True

    def _calculate_scores(self, query: Any, key: Any) -> Any:
        scores = ops.matmul(query, key, transpose_b=True)
        return scores if self.scale is None else scores * self.scale


class AdditiveAttention(_Attention):
    """Scores are sums of tanh(query + key) (Bahdanau and others 2014)."""

    def __init__(self, use_scale: bool = True, **kwargs: Any) -> None:
        super().__init__(use_scale, **kwargs)

    def build(self, input_shape: Any) -> None:
        size = ops.as_shape(input_shape[1]).as_list()[-1]
        if self.use_scale:
            self.scale = self.add_weight(
                "scale", shape=[size], initializer="glorot_uniform", dtype=self.dtype, trainable=True
            )
        self.built = True

    def _calculate_scores(self, query: Any, key: Any) -> Any:
        sums = ops.tanh(ops.expand_dims(query, axis=-2) + ops.expand_dims(key, axis=-3))
        return ops.reduce_sum(sums if self.scale is None else self.scale * sums, axis=-1)
