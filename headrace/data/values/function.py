"""Functions of elements: a Python function becomes a function of the graph's library, whose arguments and
results are the tensors of elements."""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Callable
from typing import Any

from headrace.data.values import structure
from headrace.graph.defaults import get_default_graph
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.variables.functions.defun import Defun
from headrace.variables.functions.graph_function import ConcreteFunction, Place


def should_unpack(element: Any) -> bool:
    """A tuple is given to the user's function as several arguments."""
    return type(element) is tuple


def arguments(element: Any) -> tuple[Any, ...]:
    return element if should_unpack(element) else (element,)


class StructuredFunction:
    """`func` as ops take it: `function` goes into an attribute, `captured` are further inputs."""

    def __init__(
        self, func: Callable[..., Any], transformation: str, input_structure: Any, is_legacy: bool = False
    ) -> None:
        self.input_structure = input_structure
        self.output_structure: Any = None
        self._func, self._transformation = func, transformation
        specs = structure.get_flat_tensor_specs(input_structure)
        name = f"{transformation.replace('.', '_')[:-2]}_{_name_of(func)}"

        def wrapped(*flat: Tensor) -> list[Any]:
            return self._call(list(flat))

        wrapped.__name__ = re.sub(r"[^A-Za-z0-9_.\\/-]", "", name)
        if is_legacy:
            made: Any = Defun(*(s.dtype for s in specs))(_with_shapes(wrapped, specs))
            assert made.function is not None
        else:
            labels = [f"args_{i}" for i in range(len(specs))]
            places = [Place(i, i + 1) for i in range(len(specs))]
            made = ConcreteFunction(wrapped, (tuple(places), {}), specs, [s.shape for s in specs], labels)
            self._warn_of_seed(made, wrapped.__name__)
        self.function = made
        self.captured: list[Tensor] = list(made.captured_inputs)

    @staticmethod
    def _warn_of_seed(made: ConcreteFunction, name: str) -> None:
        seed = get_default_graph().seed
        if seed and made.graph.seed == seed and made.graph._seed_used:
            warnings.warn(
                f"Seed {seed} from outer graph might be getting used by function {name}, if the random op "
                "has not been provided any seed. Explicitly set the seed in the function if this is not the "
                "intended behavior.",
                stacklevel=6,
            )

    def _call(self, flat: list[Tensor]) -> list[Any]:
        element = structure.from_compatible_tensor_list(self.input_structure, flat)
        result = self._func(*arguments(element))
        # A list is taken for a tuple: it comes from functions that give several tensors.
        result = tuple(result) if isinstance(result, list) else result
        try:
            self.output_structure = structure.type_spec_from_value(result)
        except (ValueError, TypeError):
            raise TypeError(
                f"Unsupported return value from function passed to {self._transformation}: {result}."
            ) from None
        return [convert_to_tensor(t) for t in structure.to_tensor_list(self.output_structure, result)]

    @property
    def output_types(self) -> Any:
        return structure.legacy_types(self.output_structure)

    @property
    def output_shapes(self) -> Any:
        return structure.legacy_shapes(self.output_structure)

    @property
    def output_classes(self) -> Any:
        return structure.legacy_classes(self.output_structure)


def _with_shapes(wrapped: Callable[..., Any], specs: list[Any]) -> Callable[..., Any]:
    """The function for Defun, whose arguments know types alone: their shapes are set."""

    def call(*flat: Tensor) -> list[Any]:
        for tensor, spec in zip(flat, specs):
            tensor.set_shape(spec.shape)
        result: list[Any] = wrapped(*flat)
        return result

    call.__name__ = wrapped.__name__
    return call


def _name_of(func: Any) -> str:
    while isinstance(func, functools.partial):
        func = func.func
    if hasattr(func, "__name__"):
        return str(func.__name__)
    return type(func).__name__
