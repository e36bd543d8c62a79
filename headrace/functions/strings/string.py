"""tf.strings.*: strings one by one, joined, formatted.  Ragged tensors give ragged results."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from headrace.core import dtypes
from headrace.functions.array import array
from headrace.functions.math import math
from headrace.functions.ragged.ragged import map_flat_values
from headrace.functions.ragged.tensor import is_ragged
from headrace.functions.values.old_names import renamed
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.array.constant import constant
from headrace.ops.declaration.convert import convert_to_tensor, is_dense_tensor_like
from headrace.ops.strings import basic, regex, rows, unicode
from headrace.ops.strings import convert as string_convert
from headrace.ops.strings import format as formatting

Function = TypeVar("Function", bound=Callable[..., Any])


def maps_ragged(function: Function) -> Function:
    """Let a function of `input` take a ragged tensor: the result has its rows."""

    @functools.wraps(function)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        first = args[0] if args else kwargs.get("input")
        if is_ragged(first):
            return map_flat_values(function, *args, **kwargs)
        return function(*args, **kwargs)

    return mapped  # type: ignore[return-value]


# -- one string at a time -----------------------------------------------------------------------
@maps_ragged
def string_strip(input: Any, name: str | None = None) -> Tensor:
    """The strings without white space at both ends."""
    return basic.string_strip(input, name=name)


@maps_ragged
def string_lower(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """Lower case: ASCII letters alone, or all letters with encoding "utf-8"."""
    return basic.string_lower(input, encoding, name=name)


@maps_ragged
def string_upper(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """Upper case: ASCII letters alone, or all letters with encoding "utf-8"."""
    return basic.string_upper(input, encoding, name=name)


@maps_ragged
def string_length(input: Any, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """The lengths of strings, an int32 tensor.

    Args:
      input: a string tensor.
      name: name of the node.
      unit: "BYTE", or "UTF8_CHAR" to count characters.
    """
    return basic.string_length(input, unit=unit, name=name)


@maps_ragged
def substr(input: Any, pos: Any, len: Any, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """Parts of strings.

    Args:
      input: a string tensor.
      pos: where the part begins; negative from the end.  Broadcasts with `input`.
      len: how long it is; of the shape of `pos`.
      name: name of the node.
      unit: "BYTE", or "UTF8_CHAR" to count characters.

    Example:
      >>> tf.strings.substr(["Hello", "World"], 1, 3)       # "ell", "orl"
    """
    return basic.substr(input, pos, len, unit=unit, name=name)


@maps_ragged
def regex_full_match(input: Any, pattern: Any, name: str | None = None) -> Tensor:
    """Whether a regular expression (RE2's syntax) matches whole strings.

    Args:
      input: a string tensor.
      pattern: the expression, a string or a scalar tensor.
      name: name of the node.

    Returns:
      A tensor of bools.
    """
    if isinstance(pattern, (str, bytes)):
        return regex.static_regex_full_match(input, pattern=pattern, name=name)
    return regex.regex_full_match(input, pattern, name=name)


@maps_ragged
def regex_replace(
    input: Any, pattern: Any, rewrite: Any, replace_global: bool = True, name: str | None = None
) -> Tensor:
    """Strings with the matches of a regular expression (RE2's syntax) replaced.

    Args:
      input: a string tensor.
      pattern: the expression, a string or a scalar tensor.
      rewrite: what stands in place of a match; \\\\1 to \\\\9 are its groups, \\\\0 all of it.
      replace_global: replace every match, not the first one alone.
      name: name of the node.

    Example:
      >>> tf.strings.regex_replace("Text with tags.<br /><b>contains html</b>", "<[^>]+>", " ")
    """
    if isinstance(pattern, (str, bytes)) and isinstance(rewrite, (str, bytes)):
        return regex.static_regex_replace(
            input, pattern=pattern, rewrite=rewrite, replace_global=replace_global, name=name
        )
    return regex.regex_replace(input, pattern, rewrite, replace_global=replace_global, name=name)


# -- numbers ------------------------------------------------------------------------------------
@maps_ragged
def as_string(
    input: Any,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
    name: str | None = None,
) -> Tensor:
    """Numbers and bools as text.

    Args:
      input: a tensor.
      precision: digits behind the point, for floats.
      scientific: with an exponent.
      shortest: the shorter of both notations.
      width: pad to this many characters.
      fill: what to pad with: a blank, "0", or a flag of printf.
      name: name of the node.
    """
    return string_convert.as_string(input, precision, scientific, shortest, width, fill, name=name)


def string_to_number(
    string_tensor: Any = None, out_type: Any = dtypes.float32, name: str | None = None, input: Any = None
) -> Any:
    """The numbers that strings say.

    Args:
      string_tensor: a string tensor.
      out_type: float32, float64, int32 or int64.
      name: name of the node.
      input: new name of `string_tensor`.
    """
    strings = renamed("input", input, "string_tensor", string_tensor)
    return _to_number(strings, out_type, name)


@maps_ragged
def _to_number(input: Any, out_type: Any, name: str | None) -> Tensor:
    return string_convert.string_to_number(input, out_type, name=name)


def string_to_hash_bucket(
    string_tensor: Any = None, num_buckets: Any = None, name: str | None = None, input: Any = None
) -> Any:
    """A number below `num_buckets` for every string; kept for old programs.

    Args:
      string_tensor: a string tensor.
      num_buckets: how many buckets there are.
      name: name of the node.
      input: new name of `string_tensor`.
    """
    strings = renamed("input", input, "string_tensor", string_tensor)
    return _to_hash_bucket(strings, num_buckets, name)


@maps_ragged
def _to_hash_bucket(input: Any, num_buckets: Any, name: str | None) -> Tensor:
    return string_convert.string_to_hash_bucket(input, num_buckets, name=name)


@maps_ragged
def string_to_hash_bucket_fast(input: Any, num_buckets: int, name: str | None = None) -> Tensor:
    """A number below `num_buckets` for every string, the same everywhere and always."""
    return string_convert.string_to_hash_bucket_fast(input, num_buckets, name=name)


@maps_ragged
def string_to_hash_bucket_strong(input: Any, num_buckets: int, key: Any, name: str | None = None) -> Tensor:
    """A number below `num_buckets` for every string that nobody foresees without the key.

    Args:
      input: a string tensor.
      num_buckets: how many buckets there are.
      key: two integers.
      name: name of the node.
    """
    return string_convert.string_to_hash_bucket_strong(input, num_buckets, key, name=name)


@maps_ragged
def encode_base64(input: Any, pad: bool = False, name: str | None = None) -> Tensor:
    """Strings in base 64 for URLs; `pad` fills up with '='."""
    return string_convert.encode_base64(input, pad, name=name)


@maps_ragged
def decode_base64(input: Any, name: str | None = None) -> Tensor:
    """The strings behind base 64 for URLs, padded or not."""
    return string_convert.decode_base64(input, name=name)


# -- unicode ------------------------------------------------------------------------------------
@maps_ragged
def unicode_script(input: Any, name: str | None = None) -> Tensor:
    """The number of the script (ICU's) that each code point belongs to."""
    return unicode.unicode_script(input, name=name)


@maps_ragged
def unicode_transcode(
    input: Any,
    input_encoding: str,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Tensor:
    """Strings from one encoding to another.

    Args:
      input: a string tensor.
      input_encoding: any encoding that Python knows.
      output_encoding: "UTF-8", "UTF-16-BE" or "UTF-32-BE".
      errors: what to do with broken characters: "strict", "replace" or "ignore".
      replacement_char: the code point in place of a broken character.
      replace_control_characters: treat control characters as broken ones.
      name: name of the node.
    """
    return unicode.unicode_transcode(
        input,
        input_encoding,
        output_encoding,
        errors,
        replacement_char,
        replace_control_characters,
        name=name,
    )


# -- joining ------------------------------------------------------------------------------------
def string_join(inputs: Any, separator: str = "", name: str | None = None) -> Any:
    """The strings at the same place of several tensors, one after the other.

    Args:
      inputs: a list of string tensors of one shape, or scalars.
      separator: what stands between them.
      name: name of the node.
    """
    if isinstance(inputs, (list, tuple)) and any(is_ragged(x) for x in inputs):
        return map_flat_values(string_join, list(inputs), separator=separator, name=name)
    return basic.string_join(inputs, separator=separator, name=name)


def reduce_join(
    inputs: Any,
    axis: Any = None,
    keep_dims: Any = None,
    separator: str = "",
    name: str | None = None,
    reduction_indices: Any = None,
    keepdims: Any = None,
) -> Tensor:
    """The strings along axes, joined.

    Args:
      inputs: a string tensor.
      axis: the axes, joined in this order; all, from the last to the first, by default.
      keep_dims: old name of `keepdims`.
      separator: what stands between two strings.
      name: name of the node.
      reduction_indices: old name of `axis`.
      keepdims: keep the axes, with size 1.

    Example:
      >>> tf.strings.reduce_join([["a", "b"], ["c", "d"]], axis=1)       # "ab", "cd"
    """
    keep = bool(renamed("keepdims", keepdims, "keep_dims", keep_dims))
    axis = renamed("axis", axis, "reduction_indices", reduction_indices)
    with name_scope(None, "ReduceJoin", [inputs, axis]):
        strings = convert_to_tensor(inputs)
        if axis is None:
            rank = strings.shape.rank
            if rank is not None:
                axis = constant(np.arange(rank - 1, -1, -1), dtype=dtypes.int32)
            else:
                axis = math.range_(array.rank(strings) - 1, -1, -1)
        return basic.reduce_join(strings, axis, keep_dims=keep, separator=separator, name=name)


def unsorted_segment_join(
    inputs: Any, segment_ids: Any, num_segments: Any, separator: str = "", name: str | None = None
) -> Tensor:
    """The strings of each segment, joined.

    Args:
      inputs: a string tensor.
      segment_ids: the segment of each string; its shape is the beginning of that of `inputs`.
      num_segments: how many segments there are.
      separator: what stands between two strings.
      name: name of the node.
    """
    return rows.unsorted_segment_join(inputs, segment_ids, num_segments, separator=separator, name=name)


# -- formatting ---------------------------------------------------------------------------------
def string_format(
    template: str, inputs: Any, placeholder: str = "{}", summarize: int = 3, name: str | None = None
) -> Tensor:
    """A template with tensors in place of its placeholders.

    Args:
      template: the text around them.
      inputs: a tensor, or a list of as many tensors as there are placeholders.
      placeholder: what marks a place.
      summarize: how many elements of each dimension's beginning and end to show; -1 for all.
      name: name of the node.

    Example:
      >>> tf.strings.format("x is {}", tf.range(10))      # "x is [0 1 2 ... 7 8 9]"
    """
    if is_dense_tensor_like(inputs):
        inputs = [inputs]
    count = template.count(placeholder)
    if count != len(inputs):
        raise ValueError(
            f"{count} placeholder(s) in template does not match {len(inputs)} tensor(s) provided as input"
        )
    return formatting.string_format(
        inputs, template=template, placeholder=placeholder, summarize=summarize, name=name
    )
