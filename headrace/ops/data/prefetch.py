"""Elements made in the background, before they are asked for."""

from __future__ import annotations

from typing import Any

from headrace.core.errors import require
from headrace.ops.data.pipeline.buffered import Buffered
from headrace.ops.data.pipeline.dataset import Dataset, Iterator, Unary
from headrace.ops.data.pipeline.declaring import OF_ELEMENTS, dataset_in, dataset_op, scalar_of
from headrace.ops.data.pipeline.tuning import AUTOTUNE


class Prefetch(Unary):
    kind = "Prefetch"

    def __init__(self, source: Dataset, size: int) -> None:
        super().__init__(source)
        self.size = size

    def make(self, running: Any, path: str) -> Iterator:
        made = Buffered(self.source.iterator(running, path), self.size)
        made.dataset = self
        return made


@dataset_op(
    "PrefetchDataset",
    "input_dataset: variant, buffer_size: int64 -> handle: variant",
    attrs={**OF_ELEMENTS, "slack_period": 0, "legacy_autotune": True},
)
def prefetch_dataset(input_dataset, buffer_size, *, output_types, output_shapes):
    """The elements, made in the background before they are asked for."""
    size = scalar_of(buffer_size, "buffer_size")
    require(
        size >= 0 or size == AUTOTUNE, "buffer_size must be >= 0 or set buffer_size to be -1 for auto-tuning"
    )
    source = dataset_in(input_dataset)
    return Prefetch(source, size)
