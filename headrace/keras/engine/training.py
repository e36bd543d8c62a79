"""What `compile` settled, and how a model gets its inputs, targets and weights in order."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any

import numpy as np

from headrace.data.dataset import Dataset
from headrace.data.iterators import Iterator
from headrace.data.variants import cardinality
from headrace.keras.backend.run import get_value
from headrace.keras.engine import endpoints, user_data
from headrace.keras.engine.batches import (
    Arrays,
    Elements,
    Generated,
    Source,
    Tensors,
    any_tensor,
    next_of,
    parts,
)
from headrace.keras.utils.data import Sequence
from headrace.layers import ops
from headrace.layers.engine.config import floatx
from headrace.layers.ops import nest


class Training:
    """What `compile` was told, and what follows from it once the outputs are known."""

    def __init__(self, **given: Any) -> None:
        self.given = given
        self.endpoints: list[endpoints.Endpoint] = []
        self.metrics: list[Any] = []
        self.trainable: list[tuple[Any, bool]] = []  # layers, and whether they are trained
        self.trainable_weights: list[Any] = []
        self.total_loss: Any = None
        self.metrics_built = False
        self.is_complete = False
        self.functions: dict[tuple[str, bool], Any] = {}  # by mode; with weights of examples?

    def complete(self, model: Any) -> None:
        """The outputs are known: make endpoints."""
        given, names = self.given, model.output_names
        losses = endpoints.losses_of(given["loss"], names)
        targets = endpoints.targets_of(given["target_tensors"], names)
        self.endpoints = [endpoints.Endpoint(*of) for of in zip(model.outputs, names, losses)]
        for endpoint, target in zip(self.endpoints, targets):
            endpoint.make_target(target, model.is_eager)
        endpoints.set_loss_weights(self.endpoints, given["loss_weights"])
        endpoints.set_sample_weight_modes(self.endpoints, given["sample_weight_mode"])
        self.metrics = endpoints.set_metrics(self.endpoints, given["metrics"], given["weighted_metrics"])
        self.trainable = [(layer, layer._trainable) for layer in _all_layers(model)]
        self.trainable_weights = list({id(w): w for w in model.trainable_weights}.values())
        self.is_complete = True

    @contextmanager
    def as_compiled(self) -> Any:
        """Inside, those layers are trained that were when the model was compiled."""
        before = [(layer, layer._trainable) for layer, _ in self.trainable]
        for layer, value in self.trainable:
            layer._trainable = value
        try:
            yield
        finally:
            for layer, value in before:
                layer._trainable = value

    @property
    def fed(self) -> list[endpoints.Endpoint]:
        return [e for e in self.endpoints if e.is_fed]


def _all_layers(layer: Any) -> list[Any]:
    return [layer, *(inner for part in layer._sublayers() for inner in _all_layers(part))]


# -- data in the order of the model -----------------------------------------------------------------
def standardized(
    model: Any,
    x: Any,
    y: Any = None,
    sample_weight: Any = None,
    class_weight: Any = None,
    batch_size: int | None = None,
    is_dataset: bool = False,
) -> tuple[list[Any], list[Any], Any]:
    """(inputs, targets, weights) as lists in the order of the model; a model that has not seen any data is
    built for these."""
    x, y, sample_weight = (nest.map_structure(user_data.as_value, v) for v in (x, y, sample_weight))
    symbolic = not ops.executing_eagerly() and any_tensor([x, y])
    if symbolic and y is not None:
        _refuse_mixture(x, y)
    if not model.inputs:
        model.set_inputs_from(x, symbolic and not is_dataset)
        if symbolic and not is_dataset:
            if model.optimizer is not None and model._training is not None:
                model.complete_training(_targets(y))
            return [], [], None
    if model._training is not None and not model._training.is_complete:
        model.complete_training()
    names = list(model._feed_input_names)
    shapes = model._feed_input_shapes if model._is_graph_network and not model.is_eager else None
    if model.is_eager and model._is_graph_network:
        shapes = model._feed_input_shapes
    x = user_data.as_list(x, names, shapes, "input", batch_axis=False)
    x = [_dense(value, place) for value, place in zip(x, model._feed_inputs or [None] * len(x))]
    targets: list[Any] = []
    weights = None
    if y is not None:
        targets, weights = _targets_and_weights(model, y, sample_weight, class_weight)
        user_data.check_lengths(x, targets, weights)
        if model._is_graph_network:
            user_data.check_targets(targets, model._training.fed)
    if model.stateful and batch_size and x and x[0].shape[0] % batch_size:
        raise ValueError(
            "In a stateful network, you should only pass inputs with a number of samples that can be "
            "divided by "
            f"the batch size. Found: {x[0].shape[0]} samples"
        )
    return x, targets, weights


def _refuse_mixture(x: Any, y: Any) -> None:
    flat = [v for v in (*nest.flatten(x), *nest.flatten(y)) if v is not None]
    if not all(user_data.is_tensor(v) for v in flat):
        raise ValueError(
            f"Do not pass inputs that mix Numpy arrays and TensorFlow tensors. You passed: x={x}; y={y}"
        )


def _targets(y: Any) -> Any:
    return None if y is None else list(y) if isinstance(y, list | tuple) else [y]


def _targets_and_weights(model: Any, y: Any, sample_weight: Any, class_weight: Any) -> tuple[list[Any], Any]:
    fed = model._training.fed
    names = [e.name for e in fed]
    targets = user_data.as_list(y, names, None, "target")
    each = zip(
        targets,
        user_data.per_output(sample_weight, names, "sample_weight"),
        user_data.per_output(class_weight, names, "class_weight"),
        fed,
    )
    weights: Any = [
        user_data.weights_of(target, own, of_class, e.sample_weight_mode) for target, own, of_class, e in each
    ]
    modes = [e.sample_weight_mode for e in fed]
    if all(w is None for w in weights) and all(mode is None for mode in modes):
        return targets, None
    return targets, _filled(weights, targets, modes)


def _filled(weights: list[Any], targets: list[Any], modes: list[Any]) -> list[Any]:
    """Ones, where nothing was said."""
    found = []
    for weight, target, mode in zip(weights, targets, modes):
        if weight is None and hasattr(target, "shape") and not user_data.is_tensor(target):
            weight = np.ones(target.shape[: 2 if mode == "temporal" else 1], floatx())
        found.append(weight)
    return found


def _dense(value: Any, place: Any) -> Any:
    """SciPy's sparse matrices, for dense inputs and for sparse ones."""
    if not hasattr(value, "tocoo"):
        return value
    if not isinstance(place, ops.SparseTensor):
        return value.toarray()
    found = value.tocoo()
    return ops.SparseTensorValue(np.stack([found.row, found.col], 1), found.data, found.shape)


# -- where batches come from ------------------------------------------------------------------------
def source_of(
    model: Any,
    x: Any,
    y: Any = None,
    sample_weight: Any = None,
    class_weight: Any = None,
    batch_size: int | None = None,
    steps: int | None = None,
    steps_name: str = "steps",
    epochs: int = 1,
    with_targets: bool = True,
    validation_split: float = 0.0,
    **options: Any,
) -> Source:
    """The batches of whatever a user passes as data."""
    if isinstance(x, Dataset | Iterator):
        _check_dataset(x, y, sample_weight, validation_split)
        if batch_size is not None:
            raise ValueError(
                "The `batch_size` argument must not be specified when using dataset as an input."
            )
        steps = _steps_of(x, steps, steps_name)
        prepared = _preparation(model, class_weight, with_targets, is_dataset=True)
        if not model.inputs:
            _build_from(model, x)
        return Elements(x, steps, prepared, steps_name, epochs)
    if isinstance(x, Sequence) or hasattr(x, "__next__") or hasattr(x, "next"):
        _check_generator(y, sample_weight, validation_split)
        if batch_size is not None:
            kind = "Sequence" if isinstance(x, Sequence) else "a generator"
            raise ValueError(
                f"The `batch_size` argument must not be specified when using {kind} as an input."
            )
        if (
            steps is None
            and not isinstance(x, Sequence)
            and with_targets is False
            and not hasattr(x, "__next__")
        ):
            raise ValueError(
                f"`{steps_name}=None` is only valid for a generator based on the `keras.utils.Sequence`"
            )
        return Generated(x, steps, _preparation(model, class_weight, with_targets), options)
    if not ops.executing_eagerly() and any_tensor(x if x is not None else []):
        if steps is None:
            raise ValueError(
                f"When using data tensors as input to a model, you should specify the `{steps_name}` "
                "argument."
            )
        fed = standardized(model, x, y, sample_weight, class_weight)
        return Tensors(*fed, steps)
    if x is None and steps is None:
        raise ValueError(
            f"When using data tensors as input to a model, you should specify the `{steps_name}` argument."
        )
    fed = standardized(model, x, y, sample_weight, class_weight, batch_size)
    if not fed[0] or all(a is None for a in fed[0]):
        return Tensors([], fed[1], None, steps)
    return Arrays(*fed, _fixed_batch(model, batch_size)) if steps is None else _Steps(*fed, steps)


class _Steps(Arrays):
    """The same arrays at every step."""

    mode = "steps"

    def __init__(self, x: Any, y: Any, weights: Any, steps: int) -> None:
        super().__init__(x, y, weights, 1)
        self.batch_size = self.count
        self.count = steps

    def epoch(self, shuffle: Any = False) -> Any:
        assert self.count is not None
        for _ in range(self.count):
            yield 1, self.x, self.y, self.weights


def _fixed_batch(model: Any, batch_size: int | None) -> int | None:
    shapes = [shape for shape in model._feed_input_shapes or () if shape]
    fixed = shapes[0][0] if shapes else None
    if batch_size is None:
        return fixed
    if fixed is not None and fixed != batch_size:
        raise ValueError(
            f"The `batch_size` argument value {batch_size} is incompatible with the specified batch size of "
            "your "
            f"Input Layer: {fixed}"
        )
    return batch_size


def _preparation(model: Any, class_weight: Any, with_targets: bool, is_dataset: bool = False) -> Any:
    def prepared(element: Any) -> tuple[Any, Any, Any]:
        x, y, weights = parts(element)
        if not with_targets:
            y = weights = None
        elif y is None and model._training is not None and model._training.fed:
            if not model.total_loss_needs_no_targets():
                raise ValueError(
                    "Please provide model inputs as a list or tuple of 2 or 3 elements: (input, target) or "
                    f"(input, target, sample_weights) Received {element}"
                )
        return standardized(model, x, y, weights, class_weight, is_dataset=is_dataset)

    return prepared


def _build_from(model: Any, data: Any) -> None:
    """A model that has not seen any data is built for the elements of a dataset."""
    spec = data.element_spec
    x = spec[0] if isinstance(spec, tuple) and not hasattr(spec, "_fields") else spec
    model.set_inputs_from(x, False)
    if model._training is not None and not model._training.is_complete and model.outputs:
        model.complete_training()


def _check_dataset(x: Any, y: Any, sample_weight: Any, validation_split: float) -> None:
    if y is not None:
        raise ValueError(
            f"You passed a dataset or dataset iterator ({x}) as input `x` to your model. In that case, you "
            "should "
            "not specify a target (`y`) argument, since the dataset or dataset iterator generates both "
            "input data "
            f"and target data. Received: {y}"
        )
    if sample_weight is not None:
        raise ValueError(
            "`sample_weight` argument is not supported when input `x` is a dataset or a dataset iterator. "
            "Instead, "
            "youcan provide sample_weight as the third element  of yourdataset, i.e. (inputs, targets, "
            f"sample_weight). Received: x={x}, sample_weight={sample_weight}"
        )
    if validation_split:
        raise ValueError(
            "`validation_split` argument is not supported when input `x` is a dataset or a dataset iterator. "
            f"Received: x={x}, validation_split={validation_split:f}"
        )


def _check_generator(y: Any, sample_weight: Any, validation_split: float) -> None:
    if y is not None:
        raise ValueError(
            "`y` argument is not supported when data isa generator or Sequence instance. Instead pass "
            "targets as "
            "the second element of the generator."
        )
    if sample_weight is not None:
        raise ValueError(
            "`sample_weight` argument is not supported when data isa generator or Sequence instance. "
            "Instead pass "
            "sample weights as the third element of the generator."
        )
    if validation_split:
        raise ValueError(
            "If your data is in the form of a Python generator, you cannot use `validation_split`."
        )


INFINITE = -1


def _steps_of(data: Any, steps: int | None, steps_name: str) -> int | None:
    """How many steps an epoch over a dataset has, if that can be known."""
    if isinstance(data, Iterator):
        if steps is None:
            raise ValueError(
                f"When using a Dataset iterator as input to a model, you should specify the `{steps_name}` "
                "argument."
            )
        return steps
    if steps is None and int(get_value(cardinality(data))) == INFINITE:
        raise ValueError(
            f"When passing an infinitely repeating dataset, you must specify the `{steps_name}` argument."
        )
    return steps


def element_tensors(data: Any) -> tuple[Any, Any, Any]:
    """The tensors of the next element of a dataset or iterator, for calls on one batch."""
    iterator = data if isinstance(data, Iterator) else data.make_one_shot_iterator()
    return parts(next_of(iterator))
