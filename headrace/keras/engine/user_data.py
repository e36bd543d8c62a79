"""What a user gives as data -> lists of arrays, one per input, target and weight, checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from headrace.keras.engine.endpoints import Endpoint, check_keys
from headrace.keras.losses import functions as losses
from headrace.keras.losses.classes import is_categorical_crossentropy
from headrace.layers import ops
from headrace.layers.ops import nest

_EXACT = (losses.mean_squared_error, losses.binary_crossentropy, losses.categorical_crossentropy)


def is_tensor(x: Any) -> bool:
    """A tensor of TF, whose values may not be known."""
    return isinstance(x, ops.Tensor | ops.SparseTensor | ops.RaggedTensor | ops.Variable)


def is_symbolic(x: Any) -> bool:
    """A tensor that has no value yet."""
    return is_tensor(x) and not x.graph.runs_at_once


def as_value(x: Any) -> Any:
    """Tensors with values as arrays."""
    is_eager = isinstance(x, ops.Tensor | ops.Variable) and x.graph.runs_at_once
    return x.numpy() if is_eager else x


def _plain(x: Any) -> Any:
    return x.values if type(x).__name__ == "DataFrame" else x


def _column(x: Any, shape: Any = None) -> Any:
    """Vectors are columns, unless a vector is wanted."""
    if x is None or isinstance(x, ops.SparseTensor | ops.RaggedTensor) or not hasattr(x, "shape"):
        return x
    if isinstance(x, ops.SparseTensorValue) or hasattr(x, "tocsr"):
        return x
    if len(x.shape) == 1 and (shape is None or len(shape) != 1):
        return ops.expand_dims(x, 1) if is_tensor(x) else np.expand_dims(x, 1)
    return x


def as_list(
    data: Any, names: list[str], shapes: Any = None, what: str = "", batch_axis: bool = True
) -> list[Any]:
    """Data in the order of `names`, checked against shapes.

    Args:
      data: an array, a list of arrays, or a dictionary of arrays by name.
      names: what is expected.
      shapes: the shapes of it, with the batch.
      what: input or target, for errors.
      batch_axis: must the batch be of the size that its shape says?
    """
    if not names:
        if data is not None and not isinstance(data, dict) and not _is_empty(data):
            raise ValueError(f"Error when checking model {what}: expected no data, but got:", data)
        return []
    if data is None:
        return [None] * len(names)
    if isinstance(data, dict):
        missing = [name for name in names if name not in data]
        if missing:
            raise ValueError(f'No data provided for "{missing[0]}". Need data for each key in: {names}')
        data = [_plain(data[name]) for name in names]
    elif isinstance(data, list | tuple) and not isinstance(data, ops.SparseTensorValue):
        if data and isinstance(data[0], list | tuple) and not isinstance(data[0], ops.SparseTensorValue):
            data = [np.asarray(d) for d in data]
        elif len(names) == 1 and data and isinstance(data[0], float | int):
            data = [np.asarray(data)]
        else:
            data = [_plain(x) for x in data]
    else:
        data = [_plain(data)]
    for x in data:
        if isinstance(x, int):
            raise ValueError(f"Expected an array data type but received an integer: {x}")
    data = [_column(x, shapes[i] if shapes and i < len(shapes) else None) for i, x in enumerate(data)]
    if len(data) != len(names):
        data = _miscounted(data, names, what)
    if shapes:
        for x, name, shape in zip(data, names, shapes):
            _check_shape(x, name, shape, what, batch_axis)
    found: list[Any] = data
    return found


def _is_empty(data: Any) -> bool:
    try:
        return not len(data)
    except TypeError:
        return False


def _miscounted(data: list[Any], names: list[str], what: str) -> list[Any]:
    if data and hasattr(data[0], "shape"):
        raise ValueError(
            f"Error when checking model {what}: the list of Numpy arrays that you are passing to your model "
            "is "
            f"not the size the model expected. Expected to see {len(names)} array(s), but instead got the "
            f"following list of {len(data)} arrays: {str(data)[:200]}..."
        )
    if len(names) > 1:
        raise ValueError(
            f"Error when checking model {what}: you are passing a list as input to your model, but the model "
            f"expects a list of {len(names)} Numpy arrays instead. The list you passed was: {str(data)[:200]}"
        )
    if len(data) == 1 and not hasattr(data[0], "shape"):
        raise TypeError(
            f"Error when checking model {what}: data should be a Numpy array, or list/dict of Numpy arrays. "
            f"Found: {str(data)[:200]}..."
        )
    return [np.asarray(data)]


def _check_shape(x: Any, name: str, shape: Any, what: str, batch_axis: bool) -> None:
    if shape is None or isinstance(x, ops.RaggedTensor):
        return
    found = x.dense_shape if isinstance(x, ops.SparseTensorValue) else x.shape
    if isinstance(found, ops.TensorShape):
        if found.ndims is None:
            return
        found = found.as_list()
    found, shape = tuple(found), tuple(shape)
    if len(found) != len(shape):
        raise ValueError(
            f"Error when checking {what}: expected {name} to have {len(shape)} dimensions, but got array "
            "with "
            f"shape {found}"
        )
    if not batch_axis:
        found, shape = found[1:], shape[1:]
    for size, wanted in zip(found, shape):
        if wanted is not None and size is not None and size != wanted:
            raise ValueError(
                f"Error when checking {what}: expected {name} to have shape {shape} but got array with shape "
                f"{found}"
            )


# -- weights of examples and classes ----------------------------------------------------------------
def per_output(given: Any, names: list[str], what: str) -> list[Any]:
    """Weights of each output."""
    if given is None or (isinstance(given, list | tuple) and not len(given)):
        return [None] * len(names)
    if len(names) == 1:
        if isinstance(given, list | tuple) and len(given) == 1:
            return list(given)
        if isinstance(given, dict) and names[0] in given:
            return [given[names[0]]]
        return [given]
    if isinstance(given, list | tuple):
        if len(given) != len(names):
            raise ValueError(
                f"Provided `{what}` was a list of {len(given)} elements, but the model has {len(names)} "
                "outputs. "
                f"You should provide one `{what}`array per model output."
            )
        return list(given)
    if isinstance(given, Mapping):
        check_keys(what, given, names)
        return [given.get(name) for name in names]
    raise TypeError(
        f"The model has multiple outputs, so `{what}` should be either a list or a dict. Provided `{what}` "
        "type "
        f"not understood: {given}"
    )


def weights_of(y: Any, sample_weight: Any, class_weight: Any, mode: str | None) -> Any:
    """What each example counts: its own weight times that of its class."""
    if isinstance(sample_weight, tuple):
        sample_weight = sample_weight[0]
    if mode not in (None, "samplewise"):
        if mode != "temporal":
            raise ValueError(f'"sample_weight_mode should be None or "temporal". Found: {mode}')
        if len(y.shape) < 3:
            raise ValueError(
                f"Found a sample_weight array for an input with shape {y.shape}. Timestep-wise sample "
                "weighting "
                '(use of sample_weight_mode="temporal") is restricted to outputs that are at least 3D, i.e. '
                "that "
                "have a time dimension."
            )
        if sample_weight is not None and len(sample_weight.shape) != 2:
            raise ValueError(
                f"Found a sample_weight array with shape {sample_weight.shape}. In order to use "
                "timestep-wise "
                "sample weighting, you should pass a 2D sample_weight array."
            )
    elif sample_weight is not None and len(sample_weight.shape) != 1:
        raise ValueError(
            f"Found a sample_weight array with shape {sample_weight.shape}. In order to use timestep-wise "
            "sample "
            'weights, you should specify sample_weight_mode="temporal" in compile(). If you just mean to use '
            "sample-wise weights, make sure your sample_weight array is 1D."
        )
    if sample_weight is not None:
        if len(sample_weight.shape) > len(y.shape):
            raise ValueError(
                f"Found a sample_weight with shape{sample_weight.shape}.Expected sample_weight with rank "
                "less "
                f"than or equal to {len(y.shape)}"
            )
        if not is_tensor(sample_weight) and tuple(y.shape[: sample_weight.ndim]) != sample_weight.shape:
            raise ValueError(
                f"Found a sample_weight array with shape {sample_weight.shape} for an input with shape "
                f"{y.shape}. "
                "sample_weight cannot be broadcast."
            )
    by_class = _class_weights(y, class_weight) if isinstance(class_weight, dict) else None
    if by_class is not None and sample_weight is not None:
        return by_class * sample_weight
    return by_class if sample_weight is None else sample_weight


def _class_weights(y: Any, class_weight: dict[Any, float]) -> Any:
    if len(y.shape) > 2:
        raise ValueError("`class_weight` not supported for 3+ dimensional targets.")
    y = np.asarray(as_value(y))
    if y.ndim == 2:
        classes = np.argmax(y, axis=1) if y.shape[1] > 1 else np.reshape(y, y.shape[0])
    else:
        classes = y
    found = np.asarray([class_weight[c] for c in classes if c in class_weight])
    if len(found) != len(classes):
        raise ValueError(
            "`class_weight` must contain all classes in the data. The classes "
            f"{set(classes) - set(class_weight)} exist in the data but not in `class_weight`."
        )
    return found


# -- checks -----------------------------------------------------------------------------------------
def check_lengths(inputs: Any, targets: Any, weights: Any) -> None:
    """All must have as many examples."""
    kinds = (("input arrays (x)", inputs), ("target arrays (y)", targets), ("sample_weight arrays", weights))
    lengths = []
    for what, arrays in kinds:
        known = [
            a
            for a in nest.flatten(arrays or [])
            if a is not None and not is_tensor(a) and hasattr(a, "shape")
        ]
        found = {a.shape[0] for a in known}
        if len(found) > 1:
            raise ValueError(
                f"All {what} should have the same number of samples. Got array shapes: "
                f"{[a.shape for a in known]}"
            )
        lengths.append(next(iter(found), None))
    x, y, w = lengths
    if None not in (x, y) and x != y:
        raise ValueError(
            "Input arrays should have the same number of samples as target arrays. Found "
            f"{x} input samples and {y} target samples."
        )
    if None not in (y, w) and y != w:
        raise ValueError(
            "Sample_weight arrays should have the same number of samples as target arrays. Got "
            f"{y} input samples and {w} target samples."
        )


def check_targets(targets: list[Any], endpoints: list[Endpoint]) -> None:
    """Refuse labels of a shape that the loss can not mean."""
    for y, endpoint in zip(targets, endpoints):
        loss, shape = endpoint.loss_fn, endpoint.wanted_shape
        if y is None or is_tensor(y) or not hasattr(y, "shape"):
            continue
        if is_categorical_crossentropy(loss) and y.shape[-1] == 1:
            raise ValueError(
                f"You are passing a target array of shape {y.shape} while using as loss "
                "`categorical_crossentropy`. `categorical_crossentropy` expects targets to be binary "
                "matrices (1s "
                "and 0s) of shape (samples, classes). If your targets are integer classes, you can convert "
                "them "
                "to the expected format via:\n```\nfrom keras.utils import to_categorical\ny_binary = "
                "to_categorical(y_int)\n```\n\nAlternatively, you can use the loss function "
                "`sparse_categorical_crossentropy` instead, which does expect integer targets."
            )
        if getattr(loss, "fn", None) in _EXACT and shape is not None:
            for size, wanted in zip(y.shape[1:], shape[1:]):
                if wanted is not None and size != wanted:
                    raise ValueError(
                        f"A target array with shape {y.shape} was passed for an output of shape {shape} "
                        "while "
                        f"using as loss `{loss.name or type(loss).__name__}`. This loss expects targets to "
                        "have "
                        "the same shape as the output."
                    )
