"""Every workload in TF1's API by its name.  `builders(tf)` works with headrace and with TensorFlow."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from bench.workloads import (
    changing,
    dense,
    first_runs,
    images,
    kernels,
    loops,
    models,
    path,
    recurrent,
    sparse,
)
from bench.workloads.networks import NETWORKS
from bench.workloads.program import Step
from bench.workloads.sizes import Sizes
from bench.workloads.transformer import transformer

Builder = Callable[[Sizes], Step]

PLAIN = {
    "null_step": path.null_step,
    "null_feed": path.null_feed,
    "monitored": path.monitored,
    "wide_1000": path.wide,
    "chain_1000": path.chain,
    "softmax_mnist": dense.softmax_mnist,
    "mlp": dense.mlp,
    "towers": dense.towers,
    "transformer": transformer,
    "word2vec": sparse.word2vec,
    "embedding_sparse": sparse.embedding_sparse,
    "vocabulary": sparse.vocabulary,
    "elementwise": kernels.elementwise,
    "softmax_4096": kernels.softmax_rows,
    "layernorm_4096": kernels.layer_norm,
    "reduce_rows": kernels.reduce_rows,
    "reduce_cols": kernels.reduce_columns,
    "matmul_1024": kernels.matmul,
    "while_loop": loops.while_loop,
    "seq2seq_random_lengths": changing.seq2seq,
    "resnet101_random_batches": changing.resnet101,
    "masked_loss": changing.masked_loss,
    "sampled_softmax": changing.sampled_softmax,
    "ctc": changing.ctc,
    "gather_in_loop": first_runs.gather_in_loop,
    "gpt2_sampler": first_runs.sampler,
    "jpeg_decode": first_runs.jpeg_decode,
    **models.MODELS,
    "conds_400": first_runs.conds,
    "loop_1e6": first_runs.long_loop,
    "rnn_unrolled": first_runs.unrolled_network,
    "lstm_small": lambda tf, size: recurrent.unrolled(tf, size.lstm_small),
    "lstm_medium": lambda tf, size: recurrent.unrolled(tf, size.lstm_medium),
    "lstm_small_dyn": lambda tf, size: recurrent.looped(tf, size.lstm_small),
    "lstm_medium_dyn": lambda tf, size: recurrent.looped(tf, size.lstm_medium),
}
NAMED = {
    **dict.fromkeys(NETWORKS, images.train),
    **dict.fromkeys(images.INFERENCE, images.infer),
    **dict.fromkeys(loops.BATCHES, loops.lengths),
    **dict.fromkeys(("bert_base_random_lengths", "bert_base_infer_random_lengths"), changing.bert),
    **dict.fromkeys(models.LANGUAGE_MODELS, models.language_model),
    **dict.fromkeys(("backward_looped", "backward_unrolled"), loops.backward),
}


def builders(tf: Any) -> dict[str, Builder]:
    plain = {name: partial(build, tf) for name, build in PLAIN.items()}
    named = {name: partial(build, tf, name=name) for name, build in NAMED.items()}
    return plain | named
