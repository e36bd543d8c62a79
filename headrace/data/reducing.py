"""State that goes from element to element, and results of whole datasets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core import dtypes
from headrace.data import sources
from headrace.data.dataset import Dataset
from headrace.data.values import nest, structure
from headrace.data.values.function import StructuredFunction
from headrace.functions.values.structure import name_scope
from headrace.ops.data import scan as ops
from headrace.ops.declaration.convert import convert_to_tensor


class Folding:
    """A function of (state, element) that gives a state again; shapes of the state widen until they hold for
    what it gives."""

    def __init__(
        self, dataset: Dataset, initial_state: Any, function: Callable[..., Any], what: str, has_output: bool
    ) -> None:
        with name_scope("initial_state"):
            self.initial = structure.normalize_element(initial_state)
        self._fit(dataset, structure.type_spec_from_value(self.initial), function, what, has_output)

    @classmethod
    def of_spec(cls, dataset: Dataset, spec: Any, function: Callable[..., Any], what: str) -> Folding:
        """The same for first states of which only the description is known."""
        made = object.__new__(cls)
        made._fit(dataset, spec, function, what, False)
        return made

    def _fit(self, dataset: Dataset, spec: Any, function: Any, what: str, has_output: bool) -> None:
        self.spec, self.what, self.has_output = spec, what, has_output
        while True:
            self.function = self._traced(function, dataset.element_spec)
            found = self.function.output_structure[0] if has_output else self.function.output_structure
            wider = self._widened(found)
            if wider is None:
                break
            self.spec = wider

    def _traced(self, function: Callable[..., Any], element: Any) -> StructuredFunction:
        def fold(state: Any, x: Any) -> Any:
            result = function(state, x)
            if self.has_output and not (isinstance(result, (tuple, list)) and len(result) == 2):
                raise TypeError(
                    "The scan function must return a pair comprising the new state and the output value."
                )
            return tuple(result) if self.has_output else result

        made = StructuredFunction(fold, self.what, (self.spec, element))
        return made

    def _widened(self, found: Any) -> Any:
        """The state's description with shapes for `found` too; None where it holds already.

        Raises:
          TypeError: they differ in more than shapes.
        """
        try:
            nest.assert_same_structure(self.spec, found)
        except (TypeError, ValueError):
            raise TypeError(
                f"The element types for the new state must match the initial state. Expected {self.spec}; "
                f"got {found}."
            ) from None
        for old, new in zip(nest.flatten(self.spec), nest.flatten(found)):
            if type(old) is not type(new):
                raise TypeError(
                    "The element classes for the new state must match the initial state. Expected "
                    f"{structure.legacy_classes(self.spec)}; got {structure.legacy_classes(found)}."
                )
            if old._to_legacy_output_types() != new._to_legacy_output_types():
                raise TypeError(
                    "The element types for the new state must match the initial state. Expected "
                    f"{structure.legacy_types(self.spec)}; got {structure.legacy_types(found)}."
                )
        merged = nest.map_structure(lambda a, b: a.most_specific_compatible_type(b), self.spec, found)
        return None if merged == self.spec else merged

    @property
    def initial_tensors(self) -> list[Any]:
        return structure.to_tensor_list(self.spec, self.initial)


def reduce(dataset: Dataset, initial_state: Any, reduce_func: Callable[..., Any]) -> Any:
    folding = Folding(dataset, initial_state, reduce_func, "reduce()", False)
    flat = ops.reduce_dataset(
        dataset._variant_tensor,
        folding.initial_tensors,
        folding.function.captured,
        f=folding.function.function,
        **structure.flat_structure(folding.spec),
    )
    return structure.from_compatible_tensor_list(folding.spec, listed(flat))


def listed(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (list, tuple)) else [result]


def scan(initial_state: Any, scan_func: Callable[..., Any]) -> Callable[[Dataset], Dataset]:
    """A transformation to the elements y of (state, y) = scan_func(state, x).

    Args:
      initial_state: a nest of tensors, the first state.
      scan_func: a function of a state and an element that gives a state and an element.
    """

    def apply(dataset: Dataset) -> Dataset:
        folding = Folding(dataset, initial_state, scan_func, "tf.data.experimental.scan()", True)
        spec = folding.function.output_structure[1]
        variant = ops.scan_dataset(
            dataset._variant_tensor,
            folding.initial_tensors,
            folding.function.captured,
            f=folding.function.function,
            preserve_cardinality=True,
            **structure.flat_structure(spec),
        )
        return Dataset(variant, spec, [dataset], [folding.function])

    return apply


def counter(start: Any = 0, step: Any = 1, dtype: Any = dtypes.int64) -> Dataset:
    """Numbers without end: start, start + step, ..."""
    first = convert_to_tensor(start, dtype, name="start")
    by = convert_to_tensor(step, dtype, name="step")
    return sources.from_tensors(0).repeat(None).apply(scan(first, lambda n, _: (n + by, n)))


def get_single_element(dataset: Any) -> Any:
    """The only element of a dataset, as a nest of tensors.

    Raises:
      TypeError: `dataset` is not a dataset.
      tf.errors.InvalidArgumentError: (when it runs) it has no element, or more than one.
    """
    if not isinstance(dataset, Dataset):
        raise TypeError("`dataset` must be a `tf.data.Dataset` object.")
    flat = ops.dataset_to_single_element(dataset._variant_tensor, **dataset._flat_structure)
    return structure.from_compatible_tensor_list(dataset.element_spec, listed(flat))
