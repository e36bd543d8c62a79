"""Batches of serialized Examples, parsed: one component per feature, in the order of their names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.errors import require
from headrace.core.text import as_bytes
from headrace.ops.data.map import ParallelMap
from headrace.ops.data.pipeline.dataset import Element
from headrace.ops.data.pipeline.declaring import OF_ELEMENTS, dataset_in, dataset_op, scalar_of
from headrace.ops.data.pipeline.tuning import AUTOTUNE
from headrace.ops.declaration.signature import Shapes, Strings, Types
from headrace.ops.io.example_columns import PARSED, Dense, dense_columns
from headrace.ops.io.parse_example import parsed_batch
from headrace.ops.sparse.serialize import as_variants


class Parsing:
    """What maps a batch of Examples to their features, as `Captured` is to functions."""

    waits = False

    def __init__(self, sparse_keys: list[bytes], sparse_types: Sequence[Any], dense: list[Dense]) -> None:
        self.sparse_keys, self.sparse_types, self.dense = sparse_keys, sparse_types, dense
        keys = [*(d.key for d in dense), *sparse_keys]
        self.order = sorted(range(len(keys)), key=keys.__getitem__)

    def __call__(self, running: Any, element: Sequence[Any]) -> Element:
        ragged, values = parsed_batch(element[0], (), self.sparse_keys, self.sparse_types, self.dense)
        sparse = [as_variants(i, v, n, dtype) for (i, v, n), dtype in zip(ragged, self.sparse_types)]
        found = [*values, *sparse]
        return [found[i] for i in self.order]

    def rows(self, running: Any, columns: Element) -> Element | None:
        return None


_PARSING: dict[str, Any] = {
    "sparse_keys": Strings(min=0),
    "dense_keys": Strings(min=0),
    "sparse_types": Types(PARSED, min=0),
    "Tdense": Types(PARSED, min=0),
    "dense_shapes": Shapes(min=0),
    **OF_ELEMENTS,
    "sloppy": False,
}


@dataset_op(
    "ParseExampleDataset",
    "input_dataset: variant, num_parallel_calls: int64, dense_defaults: Tdense -> handle: variant",
    also="ExperimentalParseExampleDataset",
    attrs=_PARSING,
)
def parse_example_dataset(
    ctx, input_dataset, num_parallel_calls, dense_defaults, *, sparse_keys, dense_keys, sparse_types, Tdense,
    dense_shapes, output_types, output_shapes, sloppy,
):  # fmt: skip
    """The features of batches of serialized Examples, several batches at once."""
    calls = scalar_of(num_parallel_calls, "num_parallel_calls")
    require(calls > 0 or calls == AUTOTUNE, "num_parallel_calls must be greater than zero.")
    dense = dense_columns([as_bytes(k) for k in dense_keys], Tdense, dense_shapes, dense_defaults)
    parsing: Any = Parsing([as_bytes(k) for k in sparse_keys], sparse_types, dense)
    return ParallelMap(dataset_in(input_dataset), output_types, output_shapes, parsing, True, calls, sloppy)
