"""Public names of the family: contrib."""


def _all(places: str, names: str) -> str:
    """Each name in each place."""
    return " ".join(f"{{{places}}}{name}" for name in names.split())


_SEQ2SEQ = "headrace.contrib.seq2seq"
_LEGACY_SEQ2SEQ = "headrace.contrib.legacy_seq2seq"
_LEGACY = "contrib.legacy_seq2seq."
_CRF = "contrib.crf."

_RNN = "headrace.contrib.rnn"

NAMES: dict[str, str] = {
    "headrace.layers.rnn.rnn_cells": _all("contrib.rnn.", "RNNCell LayerRNNCell BasicRNNCell GRUCell"),
    "headrace.layers.rnn.lstm_cells": _all("contrib.rnn.", "LSTMStateTuple BasicLSTMCell LSTMCell"),
    "headrace.layers.rnn.rnn_wrappers": _all(
        "contrib.rnn.", "DropoutWrapper ResidualWrapper DeviceWrapper MultiRNNCell"
    ),
    "headrace.nn.static_rnn": _all(
        "contrib.rnn.", "static_rnn static_state_saving_rnn static_bidirectional_rnn"
    ),
    "headrace.nn.rnn": "contrib.rnn.transpose_batch_time=swapped",
    "headrace.nn.rnn_parts": "contrib.rnn.best_effort_input_batch_size=batch_size_of",
    f"{_RNN}.block_cells": _all("contrib.rnn.", "LSTMBlockCell GRUBlockCell GRUBlockCellV2"),
    f"{_RNN}.fused": _all(
        "contrib.rnn.",
        "FusedRNNCell FusedRNNCellAdaptor TimeReversedFusedRNN LSTMBlockWrapper LSTMBlockFusedCell",
    ),
    f"{_RNN}.layer_norm_lstm": _all("contrib.rnn.", "LayerNormBasicLSTMCell"),
    f"{_RNN}.lstm_variants": _all(
        "contrib.rnn.", "CoupledInputForgetGateLSTMCell LayerNormLSTMCell WeightNormLSTMCell"
    ),
    f"{_RNN}.gated_cells": _all(
        "contrib.rnn.", "NASCell UGRNNCell IntersectionRNNCell SRUCell MinimalRNNCell CFNCell"
    ),
    f"{_RNN}.independent_cells": _all("contrib.rnn.", "IndRNNCell IndyGRUCell IndyLSTMCell"),
    f"{_RNN}.time_frequency": _all("contrib.rnn.", "TimeFreqLSTMCell"),
    f"{_RNN}.grid_lstm": _all("contrib.rnn.", "GridLSTMCell BidirectionalGridLSTMCell"),
    f"{_RNN}.phased_lstm": _all("contrib.rnn.", "PhasedLSTMCell"),
    f"{_RNN}.conv_lstm": _all("contrib.rnn.", "ConvLSTMCell Conv1DLSTMCell Conv2DLSTMCell Conv3DLSTMCell"),
    f"{_RNN}.group_lstm": _all("contrib.rnn.", "GLSTMCell"),
    f"{_RNN}.around": _all("contrib.rnn.", "HighwayWrapper CompiledWrapper AttentionCellWrapper"),
    f"{_RNN}.turing_machine": _all("contrib.rnn.", "NTMCell NTMControllerState"),
    f"{_RNN}.bidirectional": _all("contrib.rnn.", "stack_bidirectional_rnn stack_bidirectional_dynamic_rnn"),
    f"{_RNN}.projections": _all(
        "contrib.rnn.", "EmbeddingWrapper InputProjectionWrapper OutputProjectionWrapper"
    ),
    "headrace.variables.initializers.orthogonal": (
        "contrib.framework.convolutional_delta_orthogonal=ConvolutionDeltaOrthogonal "
        "contrib.framework.convolutional_orthogonal_1d=ConvolutionOrthogonal1D "
        "contrib.framework.convolutional_orthogonal_2d=ConvolutionOrthogonal2D "
        "contrib.framework.convolutional_orthogonal_3d=ConvolutionOrthogonal3D"
    ),
    "headrace.contrib.testing.fake_summary_writer": "contrib.testing.FakeSummaryWriter",
    "headrace.contrib.testing.event_checks": _all(
        "contrib.testing.",
        "assert_summary to_summary_proto latest_event_file latest_events latest_summaries "
        "simple_values_from_events",
    ),
    f"{_SEQ2SEQ}.helpers": _all(
        "contrib.seq2seq.",
        "Helper CustomHelper TrainingHelper GreedyEmbeddingHelper SampleEmbeddingHelper InferenceHelper",
    ),
    f"{_SEQ2SEQ}.scheduled": _all(
        "contrib.seq2seq.", "ScheduledEmbeddingTrainingHelper ScheduledOutputTrainingHelper"
    ),
    f"{_SEQ2SEQ}.decoder": _all("contrib.seq2seq.", "Decoder dynamic_decode"),
    f"{_SEQ2SEQ}.basic_decoder": _all("contrib.seq2seq.", "BasicDecoder BasicDecoderOutput"),
    f"{_SEQ2SEQ}.loss": _all("contrib.seq2seq.", "sequence_loss SequenceLoss"),
    f"{_SEQ2SEQ}.attention": _all(
        "contrib.seq2seq.", "AttentionMechanism LuongAttention BahdanauAttention hardmax"
    ),
    f"{_SEQ2SEQ}.monotonic": _all(
        "contrib.seq2seq.",
        "safe_cumprod monotonic_attention BahdanauMonotonicAttention LuongMonotonicAttention",
    ),
    f"{_SEQ2SEQ}.attention_wrapper": _all("contrib.seq2seq.", "AttentionWrapper AttentionWrapperState"),
    f"{_SEQ2SEQ}.beams": _all("contrib.seq2seq.", "tile_batch gather_tree_from_array"),
    f"{_SEQ2SEQ}.beam_step": _all("contrib.seq2seq.", "BeamSearchDecoderState BeamSearchDecoderOutput"),
    f"{_SEQ2SEQ}.beam_search": _all("contrib.seq2seq.", "BeamSearchDecoder FinalBeamSearchDecoderOutput"),
    "headrace.ops.nn.sequences.beam_search": _all("contrib.seq2seq.", "gather_tree"),
    f"{_LEGACY_SEQ2SEQ}.losses": _all(_LEGACY, "sequence_loss sequence_loss_by_example"),
    f"{_LEGACY_SEQ2SEQ}.buckets": _all(_LEGACY, "model_with_buckets"),
    f"{_LEGACY_SEQ2SEQ}.decoders": _all(_LEGACY, "rnn_decoder embedding_rnn_decoder"),
    f"{_LEGACY_SEQ2SEQ}.attention": _all(_LEGACY, "attention_decoder embedding_attention_decoder"),
    f"{_LEGACY_SEQ2SEQ}.models": _all(_LEGACY, "basic_rnn_seq2seq tied_rnn_seq2seq"),
    f"{_LEGACY_SEQ2SEQ}.embedding_models": _all(
        _LEGACY, "embedding_rnn_seq2seq embedding_tied_rnn_seq2seq embedding_attention_seq2seq"
    ),
    f"{_LEGACY_SEQ2SEQ}.one2many": _all(_LEGACY, "one2many_rnn_seq2seq"),
    "headrace.contrib.crf.crf": _all(
        _CRF,
        "crf_sequence_score crf_multitag_sequence_score crf_log_norm crf_log_likelihood "
        "crf_unary_score crf_binary_score CrfForwardRnnCell",
    ),
    "headrace.contrib.crf.decoding": _all(
        _CRF, "viterbi_decode crf_decode CrfDecodeForwardRnnCell CrfDecodeBackwardRnnCell"
    ),
}
