"""Names of tf.contrib's sequence modules, for the conformance harness: `--extras tests.conformance_contrib`
with the files of contrib/seq2seq, contrib/crf and contrib/rnn."""

from __future__ import annotations

import headrace as tf
from headrace.layers.contrib.seq2seq import beam_step, beams, sampling
from tests import conformance_extras

_SEQ2SEQ = ("attention_wrapper", "basic_decoder", "beam_search_decoder", "beam_search_ops",
            "decoder", "helper", "loss")  # fmt: skip
_RNN = ("contrib_rnn", "core_rnn_cell", "fused_rnn_cell", "gru_ops", "lstm_ops", "rnn", "rnn_cell",
        "rnn_cell_impl", "contrib_rnn_cell")  # fmt: skip


def _names(modules: tuple[str, ...], public: object) -> dict[str, object]:
    found = {n: v for n, v in vars(public).items() if not n.startswith("_")}
    found |= {n: getattr(public, n) for n in dir(public) if not n.startswith("_")}
    return {f"{module}.{name}": value for module in modules for name, value in found.items()}


NAMES: dict[str, object] = {
    **conformance_extras.NAMES,
    **_names(_SEQ2SEQ, tf.contrib.seq2seq),
    **_names(("crf",), tf.contrib.crf),
    "beam_search_decoder._mask_probs": beam_step.masked_probs,
    "beam_search_decoder._beam_search_step": beam_step.beam_search_step,
    "beam_search_decoder._get_scores": beam_step.get_scores,
    "beam_search_decoder._tensor_gather_helper": beams.gathered,
    "beam_search_decoder._check_batch_beam": beams.check_splits,
    "beam_search_decoder._check_static_batch_beam_maybe": beams.splits_statically,
    "helper._call_sampler": None,
    "helper.categorical_sample": sampling.categorical_sample,
    "helper.bernoulli_sample": sampling.bernoulli_sample,
}
if hasattr(tf.contrib, "rnn"):
    NAMES |= _names(_RNN, tf.contrib.rnn)
