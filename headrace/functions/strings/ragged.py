"""tf.strings.* with rows of different lengths: splitting, code points, n-grams."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.functions.array import array, stacking
from headrace.functions.ragged.stack import expand_dims
from headrace.functions.ragged.tensor import RaggedTensor, convert_to_tensor_or_ragged_tensor, is_ragged
from headrace.functions.sparse.tensor import SparseTensor
from headrace.functions.values.old_names import renamed
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.strings import basic, unicode
from headrace.ops.strings import rows as string_rows


def _rows(sparse: SparseTensor) -> RaggedTensor:
    """The rows of a sparse matrix without gaps."""
    result: RaggedTensor = RaggedTensor.from_value_rowids(
        sparse.values, sparse.indices[:, 0], sparse.dense_shape[0], validate=False
    )
    return result


# -- splitting ----------------------------------------------------------------------------------
def _sparse(found: Any) -> SparseTensor:
    indices, values, shape = found
    indices.set_shape([None, 2])
    values.set_shape([None])
    shape.set_shape([2])
    return SparseTensor(indices, values, shape)


def _chosen(result_type: str, sparse: Any, rows: Any) -> Any:
    if result_type == "SparseTensor":
        return sparse()
    if result_type == "RaggedTensor":
        return rows()
    raise ValueError("result_type must be 'RaggedTensor' or 'SparseTensor'.")


def string_split(
    source: Any,
    sep: Any = None,
    skip_empty: bool = True,
    delimiter: Any = None,
    result_type: str = "SparseTensor",
    name: str | None = None,
) -> Any:
    """The parts of strings between the characters of `sep`.

    Args:
      source: a vector of strings.
      sep: the characters that end a part; a blank by default, single bytes for "".
      skip_empty: leave empty parts out.
      delimiter: old name of `sep`.
      result_type: "SparseTensor" or "RaggedTensor".
      name: name of the scope.

    Example:
      >>> tf.string_split(["hello world", "a b c"])
    """
    with name_scope(name, "StringSplit", [source]):
        marks = renamed("sep", sep, "delimiter", delimiter)
        marks = convert_to_tensor(" " if marks is None else marks, dtypes.string)
        source = convert_to_tensor(source, dtypes.string)
        sparse = _sparse(basic.string_split(source, marks, skip_empty=skip_empty))
        return _chosen(result_type, lambda: sparse, lambda: _rows(sparse))


def strings_split(
    input: Any = None,
    sep: Any = None,
    maxsplit: int = -1,
    result_type: str = "SparseTensor",
    source: Any = None,
    name: str | None = None,
) -> Any:
    """The parts of strings around `sep`, as Python's `split` gives them.

    Args:
      input: a string tensor of any rank, dense or ragged.
      sep: what stands between two parts; runs of white space by default.
      maxsplit: split this many times at most.
      result_type: "SparseTensor" or "RaggedTensor".
      source: old name of `input`.
      name: name of the scope.
    """
    input = renamed("input", input, "source", source)
    with name_scope(name, "StringSplit", [input]):
        strings = convert_to_tensor_or_ragged_tensor(input, dtypes.string, name="input")
        if result_type == "SparseTensor" and strings.shape.rank == 1:
            return _split_vector(strings, sep, maxsplit)
        rows = _split(strings, sep, maxsplit)
        return _chosen(result_type, lambda: rows.to_sparse(), lambda: rows)


def _split_vector(strings: Any, sep: Any, maxsplit: int) -> SparseTensor:
    sep = convert_to_tensor("" if sep is None else sep, dtypes.string)
    return _sparse(basic.string_split_v2(strings, sep, maxsplit=maxsplit))


def _split(strings: Any, sep: Any, maxsplit: int) -> Any:
    if isinstance(strings, RaggedTensor):
        return strings.with_flat_values(_split(strings.flat_values, sep, maxsplit))
    rank = strings.shape.rank
    if rank == 0:
        return _split(stacking.stack([strings]), sep, maxsplit)[0]
    if rank in (1, None):
        return _rows(_split_vector(strings, sep, maxsplit))
    return _split(RaggedTensor.from_tensor(strings), sep, maxsplit)


def string_bytes_split(input: Any, name: str | None = None) -> Any:
    """The single bytes of strings.

    Args:
      input: a string tensor, dense or ragged.
      name: name of the scope.

    Returns:
      A `RaggedTensor` with one dimension more; a vector for a scalar.
    """
    with name_scope(name, "StringsByteSplit", [input]):
        strings = convert_to_tensor_or_ragged_tensor(input, name="input")
        if isinstance(strings, RaggedTensor):
            return strings.with_flat_values(string_bytes_split(strings.flat_values))
        rank = strings.shape.rank
        if rank is None:
            raise ValueError("input must have a statically-known rank.")
        if rank == 0:
            return string_bytes_split(stacking.stack([strings]))[0]
        if rank > 1:
            return string_bytes_split(RaggedTensor.from_tensor(strings))
        return _rows(SparseTensor(*basic.string_split(strings, "", skip_empty=False)))


# -- code points --------------------------------------------------------------------------------
def unicode_encode(
    input: Any,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> Any:
    """Strings from rows of code points: the last dimension becomes strings.

    Args:
      input: int32 code points, dense or ragged, of rank 1 or more.
      output_encoding: "UTF-8", "UTF-16-BE" or "UTF-32-BE".
      errors: what to do with numbers that are no code points: "replace", "ignore" or "strict".
      replacement_char: the code point in their place.
      name: name of the scope.
    """
    options = (output_encoding, errors, replacement_char)
    with name_scope(name, "UnicodeEncode", [input]):
        codes = convert_to_tensor_or_ragged_tensor(input)
        rank = codes.shape.rank
        if rank is None:
            raise ValueError("Rank of input_tensor must be statically known.")
        if rank == 0:
            raise ValueError("input_tensor's rank must be at least 1.")
        if is_ragged(codes):
            if codes.flat_values.shape.rank > 1:
                return codes.with_flat_values(unicode_encode(codes.flat_values, *options))
            if codes.ragged_rank > 1:
                return codes.with_values(unicode_encode(codes.values, *options))
            return unicode.unicode_encode(
                codes.values,
                codes.row_splits,
                errors=errors,
                output_encoding=output_encoding,
                replacement_char=replacement_char,
            )
        if rank == 1:
            length = array.shape(codes, out_type=dtypes.int32)[0]
            one = RaggedTensor.from_row_splits(codes, stacking.stack([0, length]), validate=False)
            return array.reshape(unicode_encode(one, *options), [])
        if rank == 2:
            return unicode_encode(RaggedTensor.from_tensor(codes), *options)
        sizes = array.shape(codes)
        flat = array.reshape(codes, stacking.stack([-1, sizes[-1]]))
        return array.reshape(unicode_encode(flat, *options), sizes[:-1])


def unicode_decode(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Any:
    """The code points of strings.

    Args:
      input: a string tensor, dense or ragged.
      input_encoding: any encoding that Python knows.
      errors: what to do with broken characters: "strict", "replace" or "ignore".
      replacement_char: the code point in place of a broken character.
      replace_control_characters: treat control characters as broken ones.
      name: name of the scope.

    Returns:
      A `RaggedTensor` of int32 with one dimension more; a vector for a scalar.
    """
    with name_scope(name, "UnicodeDecode", [input]):
        return _decoded(
            unicode.unicode_decode,
            input,
            input_encoding,
            errors,
            replacement_char,
            replace_control_characters,
        )[0]


def unicode_decode_with_offsets(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> tuple[Any, Any]:
    """The code points of strings, and where in its string each begins.  See `unicode_decode`."""
    with name_scope(name, "UnicodeDecodeWithOffsets", [input]):
        codes, offsets = _decoded(
            unicode.unicode_decode_with_offsets,
            input,
            input_encoding,
            errors,
            replacement_char,
            replace_control_characters,
        )
        return codes, offsets


def unicode_split(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    name: str | None = None,
) -> Any:
    """The characters of strings, as strings.

    Args:
      input: a string tensor, dense or ragged.
      input_encoding: "UTF-8", "UTF-16-BE" or "UTF-32-BE".
      errors: what to do with broken characters: "strict", "replace" or "ignore".
      replacement_char: the code point in place of a broken character.
      name: name of the scope.
    """
    with name_scope(name, "UnicodeSplit", [input]):
        (codes,) = _decoded(unicode.unicode_decode, input, input_encoding, errors, replacement_char, False)
        return _characters(codes, input_encoding, errors, replacement_char)


def unicode_split_with_offsets(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    name: str | None = None,
) -> tuple[Any, Any]:
    """The characters of strings, and where in its string each begins.  See `unicode_split`."""
    with name_scope(name, "UnicodeSplitWithOffsets", [input]):
        codes, offsets = _decoded(
            unicode.unicode_decode_with_offsets, input, input_encoding, errors, replacement_char, False
        )
        return _characters(codes, input_encoding, errors, replacement_char), offsets


def _characters(codes: Any, encoding: str, errors: str, replacement: int) -> Any:
    return unicode_encode(expand_dims(codes, -1), encoding, errors, replacement)


def _decoded(
    build: Any, input: Any, encoding: str, errors: str, replacement: int, controls: bool
) -> list[Any]:
    """What a decoding op gives, in the rows of the input."""
    strings = convert_to_tensor_or_ragged_tensor(input, name="input")
    rank = strings.shape.rank
    if rank is None:
        raise ValueError("Rank of `input` must be statically known.")
    if rank > 1:
        if not is_ragged(strings):
            strings = RaggedTensor.from_tensor(strings, ragged_rank=rank - 1)
        elif strings.ragged_rank < rank - 1:
            depth = rank - strings.ragged_rank - 1
            strings = strings.with_flat_values(
                RaggedTensor.from_tensor(strings.flat_values, ragged_rank=depth)
            )
    flat = array.reshape(strings.flat_values if is_ragged(strings) else strings, [-1])
    splits, *found = build(flat, encoding, errors, replacement, controls)
    if rank == 0:
        result: list[Any] = found
        return result
    rows = [RaggedTensor.from_row_splits(x, splits, validate=False) for x in found]
    return [strings.with_flat_values(x) for x in rows] if rank > 1 else rows


# -- n-grams ------------------------------------------------------------------------------------
def ngrams(
    data: Any,
    ngram_width: Any,
    separator: str = " ",
    pad_values: Any = None,
    padding_width: int | None = None,
    preserve_short_sequences: bool = False,
    name: str | None = None,
) -> Any:
    """Runs of neighbouring strings in the last dimension, joined.

    Args:
      data: a string tensor, dense or ragged, of rank 1 or more.
      ngram_width: how many strings a run has, or a list of such numbers.
      separator: what stands between two strings.
      pad_values: a string, or a pair of strings, to put in front of and behind every row.
      padding_width: how often; enough for every run by default.
      preserve_short_sequences: a row that is too short for a run gives itself.
      name: name of the scope.
    """
    with name_scope(name, "StringNGrams", [data]):
        left, right = _pads(pad_values)
        if padding_width is not None:
            if pad_values is None:
                raise ValueError("pad_values must be provided if padding_width is set.")
            if padding_width < 1:
                raise ValueError(f"padding_width must be greater than 0, not {padding_width}.")
        widths = list(ngram_width) if isinstance(ngram_width, (list, tuple)) else [ngram_width]
        if any(width < 1 for width in widths):
            raise ValueError(f"All ngram_widths must be greater than 0. Got {ngram_width}")
        if padding_width is None:
            padding_width = 0 if pad_values is None else -1

        def grams(rows: RaggedTensor) -> RaggedTensor:
            if rows.ragged_rank > 1:
                return rows.with_values(grams(rows.values))
            found, splits = string_rows.string_n_grams(
                rows.flat_values,
                rows.row_splits,
                separator,
                widths,
                left,
                right,
                padding_width,
                preserve_short_sequences,
            )
            result: RaggedTensor = RaggedTensor.from_row_splits(found, splits, validate=False)
            return result

        data = convert_to_tensor_or_ragged_tensor(data, dtypes.string, name="data")
        if not isinstance(data, Tensor):
            return grams(data)
        rank = data.shape.rank
        if rank is None:
            raise ValueError("Rank of data must be known.")
        if rank == 0:
            raise ValueError("Data must have rank>0")
        if rank == 1:
            return grams(RaggedTensor.from_row_starts(data, [0], validate=False))[0]
        # Rows of one length give results of one length.
        shape = stacking.concat([array.shape(data)[:-1], [-1]], axis=0)
        found = grams(RaggedTensor.from_tensor(data, ragged_rank=rank - 1))
        return array.reshape(found.flat_values, shape)


def _pads(pad_values: Any) -> tuple[Any, Any]:
    pads = pad_values if isinstance(pad_values, (list, tuple)) else (pad_values, pad_values)
    if pad_values is None:
        return "", ""
    if not all(isinstance(pad, (str, bytes)) for pad in pads[:2]):
        raise TypeError("pad_values must be a string, tuple of strings, or None.")
    return pads[0], pads[1]
