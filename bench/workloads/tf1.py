"""Every workload in TF1's API by its name.  `builders(tf)` works with headrace and with TensorFlow."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from bench.workloads import dense, images, kernels, loops, path, recurrent, sparse
from bench.workloads.networks import NETWORKS
from bench.workloads.program import Step
from bench.workloads.sizes import Sizes
from bench.workloads.transformer import transformer

Builder = Callable[[Sizes], Step]

PLAIN = {
    "null_step": path.null_step,
    "null_feed": path.null_feed,
    "wide_1000": path.wide,
    "chain_1000": path.chain,
    "softmax_mnist": dense.softmax_mnist,
    "mlp": dense.mlp,
    "towers": dense.towers,
    "transformer": transformer,
    "word2vec": sparse.word2vec,
    "embedding_sparse": sparse.embedding_sparse,
    "elementwise": kernels.elementwise,
    "softmax_4096": kernels.softmax_rows,
    "layernorm_4096": kernels.layer_norm,
    "reduce_rows": kernels.reduce_rows,
    "reduce_cols": kernels.reduce_columns,
    "matmul_1024": kernels.matmul,
    "while_loop": loops.while_loop,
    "lstm_small": lambda tf, size: recurrent.unrolled(tf, size.lstm_small),
    "lstm_medium": lambda tf, size: recurrent.unrolled(tf, size.lstm_medium),
    "lstm_small_dyn": lambda tf, size: recurrent.looped(tf, size.lstm_small),
    "lstm_medium_dyn": lambda tf, size: recurrent.looped(tf, size.lstm_medium),
}
NAMED = {
    **dict.fromkeys(NETWORKS, images.train),
    **dict.fromkeys(images.INFERENCE, images.infer),
    **dict.fromkeys(loops.BATCHES, loops.lengths),
    **dict.fromkeys(("backward_looped", "backward_unrolled"), loops.backward),
}


def builders(tf: Any) -> dict[str, Builder]:
    plain = {name: partial(build, tf) for name, build in PLAIN.items()}
    named = {name: partial(build, tf, name=name) for name, build in NAMED.items()}
    return plain | named
