"""tf.data.Iterator: the tensors that are the next element at every step."""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from headrace.core import dtypes
from headrace.core.dtypes import as_dtype
from headrace.core.shapes import as_shape
from headrace.data.dataset import Dataset
from headrace.data.options_applied import apply_options
from headrace.data.owned_iterator import OwnedIterator
from headrace.data.values import nest, structure
from headrace.functions.platform.scopes import device
from headrace.functions.random import random_seed
from headrace.functions.values.structure import name_scope
from headrace.graph.defaults import get_default_graph
from headrace.graph.tensor import Tensor
from headrace.ops.data import iterators as ops
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.variables.functions.defun import Defun

GET_NEXT_CALL_WARNING_THRESHOLD = 32
GET_NEXT_CALL_WARNING_MESSAGE = (
    "An unusually high number of `Iterator.get_next()` calls was detected. "
    "This often indicates that `Iterator.get_next()` is being called inside "
    "a training loop, which will cause gradual slowdown and eventual resource "
    "exhaustion. If this is the case, restructure your code to call "
    "`next_element = iterator.get_next()` once outside the loop, and use "
    "`next_element` as the input to some computation that is invoked inside "
    "the loop."
)
GLOBAL_ITERATORS = "iterators"


class Iterator:
    """A place in a dataset, from which every step takes the next element.

    Made by `Dataset.make_one_shot_iterator`, `Dataset.make_initializable_iterator`,
    `Iterator.from_structure` and `Iterator.from_string_handle`.
    """

    def __init__(
        self,
        iterator_resource: Any,
        initializer: Any,
        output_types: Any,
        output_shapes: Any,
        output_classes: Any,
    ) -> None:
        if output_types is None or output_shapes is None or output_classes is None:
            raise ValueError(
                "If `structure` is not specified, all of `output_types`, `output_shapes`, and "
                "`output_classes` must be specified."
            )
        self._iterator_resource, self._initializer = iterator_resource, initializer
        self._element_spec = structure.convert_legacy_structure(output_types, output_shapes, output_classes)
        self._flat = structure.flat_structure(self._element_spec)
        self._string_handle = ops.iterator_to_string_handle(iterator_resource)
        self._get_next_call_count = 0
        get_default_graph().add_to_collection(GLOBAL_ITERATORS, iterator_resource)

    @staticmethod
    def from_structure(
        output_types: Any,
        output_shapes: Any = None,
        shared_name: str | None = None,
        output_classes: Any = None,
    ) -> Iterator:
        """An iterator for any dataset of this form; `make_initializer` says over which it goes.

        Args:
          output_types: a nest of types.
          output_shapes: a nest of shapes; any, if it is None.
          shared_name: the name under which sessions of a task share it.
          output_classes: a nest of classes; tf.Tensor, if it is None.
        """
        form = _form(output_types, output_shapes, output_classes)
        flat = structure.flat_structure(structure.convert_legacy_structure(*form))
        with _usual_device():
            resource = ops.iterator_v2(container="", shared_name=shared_name or "", **flat)
        return Iterator(resource, None, *form)

    @staticmethod
    def from_string_handle(
        string_handle: Any, output_types: Any, output_shapes: Any = None, output_classes: Any = None
    ) -> Iterator:
        """The iterator that a string names, which may be fed: the value of another one's `string_handle`."""
        form = _form(output_types, output_shapes, output_classes)
        flat = structure.flat_structure(structure.convert_legacy_structure(*form))
        handle = convert_to_tensor(string_handle, dtypes.string)
        with _usual_device():
            resource = ops.iterator_from_string_handle_v2(handle, **flat)
        return Iterator(resource, None, *form)

    @property
    def initializer(self) -> Any:
        """The node that starts the iterator at the first element.

        Raises:
          ValueError: it starts by itself, or over datasets that `make_initializer` is given.
        """
        if self._initializer is None:
            raise ValueError("Iterator does not have an initializer.")
        return self._initializer

    def make_initializer(self, dataset: Dataset, name: str | None = None) -> Any:
        """A node that starts the iterator at the first element of `dataset`.

        Raises:
          TypeError: the dataset's elements have another form.
        """
        with name_scope(name, "make_initializer") as scope:
            self._check(dataset)
        with device(self._iterator_resource.device):
            return ops.make_iterator(dataset._variant_tensor, self._iterator_resource, name=scope)

    def _check(self, dataset: Dataset) -> None:
        nest.assert_same_structure(self.output_types, dataset.output_types)
        nest.assert_same_structure(self.output_shapes, dataset.output_shapes)
        for mine, theirs in zip(nest.flatten(self.output_classes), nest.flatten(dataset.output_classes)):
            if mine is not theirs:
                raise TypeError(
                    f"Expected output classes {self.output_classes!r} but got dataset with output class "
                    f"{dataset.output_classes!r}."
                )
        for mine, theirs in zip(nest.flatten(self.output_types), nest.flatten(dataset.output_types)):
            if mine != theirs:
                raise TypeError(
                    f"Expected output types {self.output_types!r} but got dataset with output types "
                    f"{dataset.output_types!r}."
                )
        for mine, theirs in zip(nest.flatten(self.output_shapes), nest.flatten(dataset.output_shapes)):
            if not mine.is_compatible_with(theirs):
                raise TypeError(
                    f"Expected output shapes compatible with {self.output_shapes!r} but got dataset with "
                    f"output shapes {dataset.output_shapes!r}."
                )

    def get_next(self, name: str | None = None) -> Any:
        """The tensors of the next element: one element at each step, whoever uses them.

        At the end the step raises tf.errors.OutOfRangeError.
        """
        self._get_next_call_count += 1
        if self._get_next_call_count > GET_NEXT_CALL_WARNING_THRESHOLD:
            warnings.warn(GET_NEXT_CALL_WARNING_MESSAGE, stacklevel=2)
        with device(self._iterator_resource.device):
            flat = ops.iterator_get_next(self._iterator_resource, name=name, **self._flat)
            return structure.from_tensor_list(self._element_spec, _listed(flat))

    def string_handle(self, name: str | None = None) -> Any:
        """A string tensor that names this iterator."""
        if name is None:
            return self._string_handle
        return ops.iterator_to_string_handle(self._iterator_resource, name=name)

    @property
    def element_spec(self) -> Any:
        """The nest of TypeSpecs that describes an element."""
        return self._element_spec

    @property
    def output_classes(self) -> Any:
        """The class of each component of an element."""
        return structure.legacy_classes(self._element_spec)

    @property
    def output_shapes(self) -> Any:
        """The shape of each component of an element."""
        return structure.legacy_shapes(self._element_spec)

    @property
    def output_types(self) -> Any:
        """The type of each component of an element."""
        return structure.legacy_types(self._element_spec)


def _listed(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (list, tuple)) else [result]


def _form(output_types: Any, output_shapes: Any, output_classes: Any) -> tuple[Any, Any, Any]:
    types = nest.map_structure(as_dtype, output_types)
    if output_shapes is None:
        shapes = nest.map_structure(lambda _: as_shape(None), types)
    else:
        shapes = nest.map_structure_up_to(types, as_shape, output_shapes)
    classes = output_classes
    if classes is None:
        classes = nest.map_structure(lambda _: Tensor, types)
    nest.assert_same_structure(types, shapes)
    return types, shapes, classes


def _usual_device() -> AbstractContextManager[Any]:
    """The CPU, unless the program says otherwise."""
    return nullcontext() if get_default_graph()._stacks.devices else device("/cpu:0")


def form_of(dataset: Dataset) -> tuple[Any, Any, Any]:
    return dataset.output_types, dataset.output_shapes, dataset.output_classes


def make_one_shot_iterator(dataset: Dataset) -> Any:
    """An iterator over `dataset`, once; it starts by itself."""
    if get_default_graph().runs_at_once:
        return OwnedIterator(dataset)
    check_graph(dataset)
    graph_seed, op_seed = random_seed.get_seed(None)

    def _make_dataset() -> Any:
        if graph_seed is not None and op_seed is not None:
            # The body has node numbers of its own, so the seed is that of the graph and this place.
            random_seed.set_random_seed((graph_seed + 87654321 * op_seed) % (2**63 - 1))
        return apply_options(dataset)._variant_tensor

    factory = Defun(capture_by_value=True, whitelisted_stateful_ops=_dataset_nodes(dataset))(_make_dataset)
    try:
        factory.add_to_graph(get_default_graph())  # type: ignore[union-attr]
    except ValueError as error:
        if "Cannot capture a stateful node" not in str(error):
            raise
        raise ValueError(
            "Failed to create a one-shot iterator for a dataset. `Dataset.make_one_shot_iterator()` does not "
            "support datasets that capture stateful objects, such as a `Variable` or `LookupTable`. In "
            f"these cases, use `Dataset.make_initializable_iterator()`. (Original error: {error})"
        ) from None
    with device(dataset._variant_tensor.device):
        resource = ops.one_shot_iterator(dataset_factory=factory, **dataset._flat_structure)
        return Iterator(resource, None, *form_of(dataset))


def make_initializable_iterator(dataset: Dataset, shared_name: str | None = None) -> Iterator:
    """An iterator over `dataset` that starts when its `initializer` runs."""
    if get_default_graph().runs_at_once:
        raise RuntimeError(
            "dataset.make_initializable_iterator is not supported when eager execution is enabled. Use "
            "`for element in dataset` instead."
        )
    check_graph(dataset)
    applied = apply_options(dataset)
    with device(dataset._variant_tensor.device):
        resource = ops.iterator_v2(container="", shared_name=shared_name or "", **dataset._flat_structure)
        initializer = ops.make_iterator(applied._variant_tensor, resource)
        return Iterator(resource, initializer, *form_of(applied))


def check_graph(dataset: Dataset) -> None:
    """All of the pipeline belongs to the default graph."""
    graph, todo = get_default_graph(), [dataset]
    while todo:
        found = todo.pop()
        if found._graph is not graph:
            raise ValueError(
                "The graph of the iterator is different from the graph the dataset: "
                f"{type(found).__name__} was created in. If you are using the Estimator API, make sure that "
                "no part of the dataset returned by the `input_fn` function is defined outside the "
                "`input_fn` function. Please ensure that all datasets in the pipeline are created in the "
                "same graph as the iterator."
            )
        todo += found._inputs()


def _dataset_nodes(dataset: Dataset) -> list[Any]:
    """The nodes that datasets come from, which a one-shot iterator makes again in its function."""
    seen, todo, found = set(), [dataset._variant_tensor.op], []
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        if node.outputs and node.outputs[0].dtype == dtypes.variant:
            found.append(node)
        todo += [t.op for t in node.inputs]
    return found


def get_structure(dataset_or_iterator: Any) -> Any:
    """The nest of TypeSpecs of a dataset's or an iterator's elements."""
    try:
        return dataset_or_iterator.element_spec
    except AttributeError:
        raise TypeError(
            "`dataset_or_iterator` must be a Dataset or Iterator object, but got "
            f"{type(dataset_or_iterator)}."
        ) from None


def get_legacy_output_classes(dataset_or_iterator: Any) -> Any:
    """The classes of the components of the elements."""
    return structure.legacy_classes(get_structure(dataset_or_iterator))


def get_legacy_output_shapes(dataset_or_iterator: Any) -> Any:
    """The shapes of the components of the elements."""
    return structure.legacy_shapes(get_structure(dataset_or_iterator))


def get_legacy_output_types(dataset_or_iterator: Any) -> Any:
    """The types of the components of the elements."""
    return structure.legacy_types(get_structure(dataset_or_iterator))
