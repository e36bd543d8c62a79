"""The tensors of a checkpoint, printed: names, types, shapes and values."""

from __future__ import annotations

import re
from argparse import ArgumentTypeError
from typing import Any

import numpy as np

from headrace.core.errors import OpError
from headrace.train.checkpoints.checkpoint_reader import NewCheckpointReader


def print_tensors_in_checkpoint_file(
    file_name: Any,
    tensor_name: str,
    all_tensors: bool,
    all_tensor_names: bool = False,
    count_exclude_pattern: str = "",
) -> None:
    """Print what is in a checkpoint.

    Args:
      file_name: the checkpoint.
      tensor_name: the tensor whose value to print; if empty, all types and shapes are printed.
      all_tensors: print the values of all tensors.
      all_tensor_names: print the names, types and shapes of all tensors.
      count_exclude_pattern: tensors that match are not counted as parameters.
    """
    try:
        reader = NewCheckpointReader(str(file_name))
        shapes, types = reader.get_variable_to_shape_map(), reader.get_variable_to_dtype_map()
        if all_tensors or all_tensor_names:
            for name in sorted(shapes):
                print(f"tensor: {name} ({types[name].name}) {shapes[name]}")
                if all_tensors:
                    print(reader.get_tensor(name))
        elif tensor_name:
            print(f"tensor: {tensor_name} ({types[tensor_name].name}) {shapes[tensor_name]}")
            print(reader.get_tensor(tensor_name))
        else:
            print(reader.debug_string().decode("utf-8", errors="ignore"))
    except KeyError:
        print(f"Key {tensor_name} not found in checkpoint ({file_name})")
        return
    except OpError as error:
        print(error.message)
        if "Data loss" in error.message or "corrupt" in error.message:
            print("A checkpoint has several files; give the beginning of their names.")
        return
    count = _parameters(shapes, count_exclude_pattern)
    print(f"# Total number of params: {count}")


def _parameters(shapes: dict[str, Any], excluded: str) -> int:
    pattern = re.compile(excluded) if excluded else None
    counted = [s for n, s in shapes.items() if pattern is None or not pattern.match(n)]
    return sum(int(np.prod(shape, dtype=np.int64)) for shape in counted)


def parse_numpy_printoption(kv_str: str) -> None:
    """Set an option of numpy.set_printoptions from text like "threshold=5".

    Raises:
      ArgumentTypeError: there is no such option.
    """
    key, equals, text = kv_str.partition("=")
    if not equals or not key:
        raise ArgumentTypeError(f"'{kv_str}' is not in the form k=v.")
    options: dict[str, Any] = dict(np.get_printoptions())
    if key not in options:
        raise ArgumentTypeError(f"'{key}' is not a valid printoption.")
    kind = type(options[key])
    if kind is type(None):
        raise ArgumentTypeError(f"Setting '{key}' from the command line is not supported.")
    try:
        value = text.lower() == "true" if kind is bool else kind(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None
    chosen: dict[str, Any] = {key: value}
    np.set_printoptions(**chosen)
