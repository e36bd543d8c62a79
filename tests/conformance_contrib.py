"""Names of tf.contrib's sequence modules, for the conformance harness: `--extras tests.conformance_contrib`
with the files of contrib/seq2seq, contrib/crf and contrib/rnn."""

from __future__ import annotations

import headrace as tf
from headrace.contrib.seq2seq import beam_step, beams, sampling
from tests import conformance_extras

_SEQ2SEQ = (
    "attention_wrapper",
    "basic_decoder",
    "beam_search_decoder",
    "beam_search_ops",
    "decoder",
    "helper",
    "loss",
)
_RNN = (
    "contrib_rnn",
    "core_rnn_cell",
    "fused_rnn_cell",
    "gru_ops",
    "lstm_ops",
    "rnn",
    "rnn_cell",
    "rnn_cell_impl",
    "contrib_rnn_cell",
)


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
NAMES |= _names(_RNN, tf.contrib.rnn)


def _block_lstm(seq_len_max, x, w, b, forget_bias=1.0, cell_clip=-1.0, use_peephole=False, **given):
    """BlockLSTM over a list of steps, with zeros for what is not given."""
    size = b.shape.as_list()[0] // 4
    hole = tf.zeros([size], x[0].dtype)
    state = tf.zeros([x[0].shape.as_list()[0], size], x[0].dtype)
    given = {n: v for n, v in given.items() if v is not None and n != "name"}
    rest = {"cs_prev": state, "h_prev": state, "wci": hole, "wcf": hole, "wco": hole} | given
    found = tf.raw_ops.BlockLSTM(
        seq_len_max=seq_len_max,
        x=tf.stack(x),
        w=w,
        b=b,
        forget_bias=forget_bias,
        cell_clip=cell_clip,
        use_peephole=use_peephole,
        **rest,
    )
    return tuple(tf.unstack(part) for part in found)


NAMES["lstm_ops._block_lstm"] = _block_lstm
