"""Elements that a function gives, call after call, until it is out of range."""

from __future__ import annotations

from typing import Any

from headrace.core.errors import OpError, OutOfRangeError
from headrace.ops.data.pipeline.captured import Captured
from headrace.ops.data.pipeline.dataset import Dataset, Element, Iterator
from headrace.ops.data.pipeline.declaring import OF_ELEMENTS, dataset_op
from headrace.ops.data.pipeline.workers import WORKERS
from headrace.ops.declaration.signature import Function, Types
from headrace.ops.declaration.traits import STATEFUL


class Generator(Dataset):
    kind = "Generator"

    def __init__(self, types: Any, shapes: Any, start: Captured, step: Captured, finish: Captured) -> None:
        super().__init__(types, shapes)
        self.start, self.step, self.finish = start, step, finish
        self.waits = start.waits or step.waits


class GeneratorIterator(Iterator, over=Generator):
    """`state`: what the first function gave; None before that, and when the last one has been called."""

    def __init__(self, dataset: Any, running: Any, path: str) -> None:
        super().__init__(dataset, running, path)
        self.state: Element | None = None
        self.is_done = False

    def next(self) -> Element | None:
        if self.is_done:
            return None
        if self.state is None:
            self.state = self.dataset.start(self.running, [])
        try:
            result: Element = self.dataset.step(self.running, self.state)
            return result
        except OutOfRangeError:
            self._finish()
            return None

    def _finish(self) -> None:
        self.is_done = True
        state, self.state = self.state, None
        if state is not None:
            self.dataset.finish(self.running, state)

    def close(self) -> None:
        """An iterator that is given up before its end calls the last function too, in the background: the
        step that gives it up may be cancelled, and does not wait."""
        state, self.state = self.state, None
        if not self.is_done and state is not None:
            self.is_done = True
            running = self.running.after_close()

            def finish() -> None:
                try:
                    self.dataset.finish(running, state)
                except OpError:
                    pass  # nobody is there to hear it

            WORKERS.submit(finish)


@dataset_op(
    "GeneratorDataset",
    "init_func_other_args: Tinit_func_args, next_func_other_args: Tnext_func_args, "
    "finalize_func_other_args: Tfinalize_func_args -> handle: variant",
    [STATEFUL],
    attrs={
        "init_func": Function(),
        "next_func": Function(),
        "finalize_func": Function(),
        "Tinit_func_args": Types(min=0),
        "Tnext_func_args": Types(min=0),
        "Tfinalize_func_args": Types(min=0),
        **OF_ELEMENTS,
    },
)
def generator_dataset(
    ctx, init_func_other_args, next_func_other_args, finalize_func_other_args, *, init_func, next_func,
    finalize_func, output_types, output_shapes,
):  # fmt: skip
    """Elements next_func(state), with state = init_func(), until it is out of range."""
    return Generator(
        output_types,
        output_shapes,
        Captured(ctx, init_func, init_func_other_args),
        Captured(ctx, next_func, next_func_other_args),
        Captured(ctx, finalize_func, finalize_func_other_args),
    )
