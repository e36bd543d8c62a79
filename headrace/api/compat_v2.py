"""tf.compat.v2: TF 2's names, as programs of TF 1.15's time use them in graphs.

Most names are TF 1's at the same place.  What differs stands in tables: a function whose arguments have
another order (`_ARGUMENTS`), a name that TF 1 has elsewhere (`_MOVED`), the places that are Keras's.
Which names there are says recorded/v2.txt.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

from headrace.api import absent, recorded
from headrace.api.namespace import Namespace

PLACE = "compat.v2"
_KERAS = ("initializers", "losses", "metrics", "optimizers")
_INITIALIZERS = "headrace.variables.initializers.initializers_v2"

# Names that are something else than TF 1's: a name of tf, or "module:name" of ours.
_MOVED = {
    "where": "where_v2",
    "feature_column.make_parse_example_spec": "headrace.layers.columns.base:make_parse_example_spec_v2",
    "feature_column.categorical_column_with_vocabulary_file": (
        "headrace.layers.columns.categorical:categorical_column_with_vocabulary_file_v2"
    ),
    "feature_column.shared_embeddings": "headrace.layers.columns.embedding:shared_embeddings",
    "nn.avg_pool": "nn.avg_pool_v2",
    "nn.max_pool": "nn.max_pool_v2",
    "nn.ctc_loss": "nn.ctc_loss_v2",
    "nn.ctc_beam_search_decoder": "nn.ctc_beam_search_decoder_v2",
    "nn.RNNCellDeviceWrapper": "nn.rnn_cell.DeviceWrapper",
    "nn.RNNCellDropoutWrapper": "nn.rnn_cell.DropoutWrapper",
    "nn.RNNCellResidualWrapper": "nn.rnn_cell.ResidualWrapper",
    "random.set_seed": "set_random_seed",
    "saved_model.load": "saved_model.load_v2",
    "Variable": "headrace.variables.variable_v2:VariableV2",
    "losses.Reduction": "headrace.keras.losses.reduction:Reduction",
    "keras.losses.Reduction": "headrace.keras.losses.reduction:Reduction",
    **{f"{kind.lower()}_initializer": f"{_INITIALIZERS}:{kind}" for kind in ("Constant", "Ones", "Zeros")},
    "random_normal_initializer": f"{_INITIALIZERS}:RandomNormal",
    "random_uniform_initializer": f"{_INITIALIZERS}:RandomUniform",
}

# The order of arguments, where it is not TF 1's; "new:old" is TF 1's name, "=" a default of
# TF 2's, "!" an argument that TF 2 has not.
_COMPARED = "x y message summarize name"
_ONE = "x message summarize name"
_RANK = "x rank message name"
_FILTER = "input filters strides padding data_format dilations name"
_ARGUMENTS = {
    "convert_to_tensor": "value dtype dtype_hint name",
    "name_scope": "name",
    "{,math.}reduce_{all,any,logsumexp,max,mean,min,prod,sum}": "input_tensor axis keepdims=False name",
    "expand_dims": "input axis name",
    "squeeze": "input axis name",
    "{,math.}scalar_mul": "scalar x name",
    "{,linalg.}norm": "tensor ord axis keepdims name",
    "{linalg,math,nn}.l2_normalize": "x axis epsilon name",
    "{math,nn}.{softmax,log_softmax}": "logits axis name",
    "case": "pred_fn_pairs default exclusive strict name",
    "sparse.add": "a b threshold=0",
    "device": "device_name:device_name_or_function",
    "test.assert_equal_graph_def": "expected actual",
    "batch_to_space": "input block_shape crops name",
    "boolean_mask": "tensor mask axis name",
    "nn.depth_to_space": "input block_size data_format name",
    "nn.space_to_depth": "input block_size data_format name",
    "gather": "params indices validate_indices axis batch_dims name",
    "gather_nd": "params indices batch_dims name",
    "{ones_like,zeros_like}": "input:tensor dtype name",
    "pad": "tensor paddings mode constant_values name",
    "{shape,size}": "input out_type name",
    "{,nn.}space_to_batch": "input block_shape paddings name",
    "transpose": "a perm conjugate name",
    "{,debugging.}assert_{equal,greater,less}": _COMPARED,
    "debugging.assert_{greater_equal,less_equal}": _COMPARED,
    "debugging.assert_near": "x y rtol atol message summarize name",
    "debugging.assert_none_equal": "x y summarize message name",
    "debugging.assert_{negative,non_negative,non_positive,positive}": _ONE,
    "{,debugging.}assert_rank": _RANK,
    "debugging.assert_rank_at_least": _RANK,
    "debugging.assert_rank_in": "x ranks message name",
    "debugging.assert_scalar": "tensor message name",
    "debugging.assert_all_finite": "x message name",
    "math.confusion_matrix": "labels predictions num_classes weights dtype name",
    "cond": "pred true_fn false_fn name",
    "tuple": "tensors control_inputs name",
    "while_loop": (
        "cond body loop_vars shape_invariants parallel_iterations back_prop swap_memory "
        "maximum_iterations name !return_same_structure=True"
    ),
    "nn.embedding_lookup": "params ids max_norm name !partition_strategy='div'",
    "nn.embedding_lookup_sparse": (
        "params sp_ids sp_weights combiner='mean' max_norm name !partition_strategy='div'"
    ),
    "nn.safe_embedding_lookup_sparse": (
        "embedding_weights sparse_ids sparse_weights combiner default_id max_norm name "
        "!partition_strategy='div'"
    ),
    "gradients": (
        "ys xs grad_ys name gate_gradients aggregation_method stop_gradients unconnected_gradients "
        "!colocate_gradients_with_ops=True"
    ),
    "hessians": "ys xs gate_gradients aggregation_method name !colocate_gradients_with_ops=True",
    "image.crop_and_resize": "image boxes box_indices crop_size method extrapolation_value name",
    "image.draw_bounding_boxes": "images boxes colors name",
    "{,math.}arg{max,min}": "input axis output_type name",
    "math.count_nonzero": "input axis keepdims dtype name",
    "sparse.segment_{mean,sqrt_n,sum}": "data indices segment_ids num_segments name",
    "nn.batch_norm_with_global_normalization": (
        "input mean variance beta gamma variance_epsilon scale_after_normalization name"
    ),
    "nn.depthwise_conv2d": "input filter strides padding data_format dilations name",
    "nn.separable_conv2d": (
        "input depthwise_filter pointwise_filter strides padding data_format dilations name"
    ),
    "nn.moments": "x axes shift keepdims name",
    "nn.sufficient_statistics": "x axes shift keepdims name",
    "nn.weighted_moments": "x axes frequency_weights keepdims name",
    "nn.nce_loss": (
        "weights biases labels inputs num_sampled num_classes num_true sampled_values "
        "remove_accidental_hits name !partition_strategy='div'"
    ),
    "nn.sampled_softmax_loss": (
        "weights biases labels inputs num_sampled num_classes num_true sampled_values "
        "remove_accidental_hits seed name !partition_strategy='div'"
    ),
    "nn.sigmoid_cross_entropy_with_logits": "labels logits name",
    "nn.sparse_softmax_cross_entropy_with_logits": "labels logits name",
    "nn.avg_pool2d": "input ksize strides padding data_format name",
    "nn.conv1d": "input filters stride padding data_format dilations name",
    "nn.conv{2,3}d": _FILTER,
    "nn.conv{2,3}d_transpose": (
        "input filters output_shape strides padding='SAME' data_format dilations name"
    ),
    "nn.convolution": "input filters strides padding='VALID' data_format dilations name",
    "nn.pool": "input window_shape pooling_type strides padding='VALID' data_format dilations name",
    "nn.crelu": "features axis name",
    "nn.dropout": "x rate noise_shape seed name",
    "nn.fractional_{avg,max}_pool": "value pooling_ratio pseudo_random overlapping seed name",
    "{math,nn}.in_top_k": "targets predictions k name",
    "nn.max_pool_with_argmax": (
        "input ksize strides padding data_format output_dtype include_batch_in_index name"
    ),
    "io.decode_csv": "records record_defaults field_delim use_quote_delim na_value select_cols name",
    "io.{parse_example,parse_single_example}": "serialized features example_names name",
    "io.{serialize_many_sparse,serialize_sparse}": "sp_input out_type name",
    "random.poisson": "shape lam dtype seed name",
    "sparse.concat": "axis sp_inputs expand_nonconcat_dims name",
    "sparse.split": "sp_input num_split axis name",
    "strings.length": "input unit name",
    "strings.reduce_join": "inputs axis keepdims separator name",
    "strings.split": "input sep maxsplit name !result_type='RaggedTensor'",
    "strings.substr": "input pos len unit name",
    "strings.to_hash_bucket": "input num_buckets name",
    "strings.to_number": "input out_type name",
}
# The functions above whose TF 1 form is another one than that of the same name.
_OF = {
    "nn.softmax_cross_entropy_with_logits": (
        "nn.softmax_cross_entropy_with_logits_v2",
        "labels logits axis name",
    )
}


class SecondNamespace(Namespace):
    """A module of tf.compat.v2."""

    def __init__(self, place: str) -> None:
        self.__dict__["_place"] = place
        super().__init__(f"headrace.{PLACE}.{place}".rstrip("."))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        full = f"{self._place}.{name}".lstrip(".")
        if full in _places():
            return importlib.import_module(f"headrace.{PLACE}.{full}")
        if name not in _places().get(self._place, {}) and self._place != "raw_ops":
            raise absent.error(self, f"{PLACE}.{self._place}".rstrip("."), name)
        value = _value(full)
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        return sorted(_places().get(self._place, {}))


@cache
def _places() -> dict[str, dict[str, bool]]:
    return {**recorded.names("v2"), "raw_ops": {}}


@cache
def space(place: str) -> SecondNamespace | None:
    """The namespace at a place below tf.compat.v2."""
    return SecondNamespace(place) if place in _places() else None


def _value(full: str) -> Any:
    if full in _OF:
        first, words = _OF[full]
        return _reordered(full, _first(first), words)
    if full in _arguments():
        return _reordered(full, _first(full), _arguments()[full])
    moved = _MOVED.get(full, full)
    if moved == full and full.split(".")[0] in _KERAS and "." in full:
        moved = f"keras.{full}"
    return _first(moved)


def _first(name: str) -> Any:
    """A name of TF 1's, or of a module of ours."""
    module, colon, inside = name.partition(":")
    value = importlib.import_module(module) if colon else sys.modules["headrace"]
    for word in (inside if colon else name).split("."):
        value = getattr(value, word)
    return value


# -- functions ------------------------------------------------------------------------------------
@cache
def _arguments() -> dict[str, str]:
    return {name: words for names, words in _ARGUMENTS.items() for name in _expanded(names)}


def _expanded(names: str) -> list[str]:
    """Every name that a pattern with braces stands for."""
    before, brace, rest = names.partition("{")
    if not brace:
        return [names]
    choices, _, after = rest.partition("}")
    return [before + choice + end for choice in choices.split(",") for end in _expanded(after)]


def _reordered(full: str, first: Callable[..., Any], words: str) -> Callable[..., Any]:
    """TF 1's function with TF 2's order of arguments."""
    theirs = inspect.signature(first).parameters
    parameters: list[inspect.Parameter] = []
    fixed: dict[str, Any] = {}
    old_names: dict[str, str] = {}
    for word in words.split():
        name, equals, text = word.partition("=")
        if name.startswith("!"):
            fixed[name[1:]] = ast.literal_eval(text)
            continue
        new, _, old = name.partition(":")
        old_names[new] = old or new
        default = ast.literal_eval(text) if equals else theirs[old_names[new]].default
        parameters.append(inspect.Parameter(new, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default))
    signature = inspect.Signature(_required_first(parameters))

    @functools.wraps(first)
    def second(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs)
        return first(**fixed, **{old_names[name]: value for name, value in given.arguments.items()})

    second.__name__ = full.rpartition(".")[2]
    second.__module__ = f"headrace.{PLACE}"
    second.__signature__ = signature  # type: ignore[attr-defined]
    return second


def _required_first(parameters: list[inspect.Parameter]) -> list[inspect.Parameter]:
    """What stands before a required argument is required; TF 1 lets it be left out for its second name."""
    last = max((i for i, p in enumerate(parameters) if p.default is p.empty), default=-1)
    return [p.replace(default=p.empty) if i < last else p for i, p in enumerate(parameters)]
