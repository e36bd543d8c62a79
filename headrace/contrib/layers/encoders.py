"""tf.contrib.layers: embeddings of words and bags of words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.contrib.framework.variables import model_variable
from headrace.core import dtypes
from headrace.functions.array.array import reshape, shape
from headrace.functions.array.indexing import gather, gather_nd, where
from headrace.functions.array.stacking import concat
from headrace.functions.math.math import not_equal
from headrace.functions.math.reduce import reduce_mean
from headrace.functions.sparse.tensor import SparseTensor
from headrace.functions.values.structure import name_scope
from headrace.nn.embedding import embedding_lookup, safe_embedding_lookup_sparse
from headrace.ops.array.unique import unique
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.variables.scope import variable_scope
from headrace.variables.scope_defaults import VariableScope


def embed_sequence(
    ids: Any,
    vocab_size: int | None = None,
    embed_dim: int | None = None,
    unique: bool = False,
    initializer: Callable[..., Any] | None = None,
    regularizer: Callable[..., Any] | None = None,
    trainable: bool = True,
    scope: str | VariableScope | None = None,
    reuse: Any = None,
) -> Any:
    """Numbers of words [batch, length] as vectors [batch, length, embed_dim].

    Args:
      ids: numbers of words.
      vocab_size: how many words there are.
      embed_dim: size of a vector.
      unique: look up each word once.
      initializer, regularizer, trainable: of the embeddings.
      scope: name of the variable scope.
      reuse: take the embeddings that are there.

    Raises:
      ValueError: a size is missing, and nothing is reused.
    """
    if not (reuse or (vocab_size and embed_dim)):
        raise ValueError(
            "Must specify vocab size and embedding dimension when not reusing. Got "
            f"vocab_size={vocab_size} and embed_dim={embed_dim}"
        )
    with variable_scope(scope, "EmbedSequence", [ids], reuse=reuse):
        known = vocab_size is not None and embed_dim is not None
        embeddings = model_variable(
            "embeddings",
            shape=[vocab_size, embed_dim] if known else None,
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
        )
        if unique:
            return embedding_lookup_unique(embeddings, ids)
        return embedding_lookup(embeddings, ids)


def bow_encoder(
    ids: Any,
    vocab_size: int,
    embed_dim: int,
    sparse_lookup: bool = True,
    initializer: Callable[..., Any] | None = None,
    regularizer: Callable[..., Any] | None = None,
    trainable: bool = True,
    scope: str | VariableScope | None = None,
    reuse: Any = None,
) -> Any:
    """The mean of the vectors of the words of each row.

    Args:
      ids: numbers of words [batch, length], dense or sparse.
      sparse_lookup: leave out the zeros of dense ones.
      vocab_size, embed_dim, ...: as of `embed_sequence`.

    Raises:
      ValueError: a size is missing.
      TypeError: sparse numbers without `sparse_lookup`.
    """
    if not vocab_size or not embed_dim:
        raise ValueError("Must specify vocab size and embedding dimension")
    with variable_scope(scope, "bow_encoder", [ids], reuse=reuse):
        embeddings = model_variable(
            "embeddings",
            shape=[vocab_size, embed_dim],
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
        )
        if not sparse_lookup:
            if isinstance(ids, SparseTensor):
                raise TypeError("ids are expected to be dense Tensor, got: %s", ids)
            return reduce_mean(embedding_lookup(embeddings, ids), axis=1)
        sparse = ids if isinstance(ids, SparseTensor) else _nonzero(ids)
        return safe_embedding_lookup_sparse([embeddings], sparse, combiner="mean", default_id=0)


def _nonzero(ids: Any) -> SparseTensor:
    ids = convert_to_tensor(ids)
    places = where(not_equal(ids, 0))
    return SparseTensor(places, gather_nd(ids, places), shape(ids, out_type=dtypes.int64))


def embedding_lookup_unique(params: Any, ids: Any, name: str | None = None) -> Any:
    """`tf.nn.embedding_lookup`, with each row looked up once."""
    with name_scope(name, "EmbeddingLookupUnique", [params, ids]):
        ids = convert_to_tensor(ids)
        known = shape(ids)
        rows, places = unique(reshape(ids, [-1]))[:2]
        found = gather(embedding_lookup(params, rows), places)
        result = reshape(found, concat([known, shape(found)[1:]], 0))
        result.set_shape(ids.shape.concatenate(found.shape[1:]))
        return result
