"""Runs on generators, by their old names."""

from __future__ import annotations

from typing import Any

from headrace.data.dataset import Dataset
from headrace.data.iterators import Iterator
from headrace.keras.utils.data import Sequence


class GeneratorRuns:
    """The part of Model with `fit_generator` and its like."""

    fit: Any
    evaluate: Any
    predict: Any

    def fit_generator(
        self,
        generator: Any,
        steps_per_epoch: int | None = None,
        epochs: int = 1,
        verbose: int = 1,
        callbacks: Any = None,
        validation_data: Any = None,
        validation_steps: int | None = None,
        validation_freq: Any = 1,
        class_weight: Any = None,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
        shuffle: bool = True,
        initial_epoch: int = 0,
    ) -> Any:
        """`fit` on a generator."""
        return self.fit(
            _need_steps(generator, steps_per_epoch, "steps_per_epoch"),
            steps_per_epoch=steps_per_epoch,
            epochs=epochs,
            verbose=verbose,
            callbacks=callbacks,
            validation_data=validation_data,
            validation_steps=validation_steps,
            validation_freq=validation_freq,
            class_weight=class_weight,
            max_queue_size=max_queue_size,
            workers=workers,
            use_multiprocessing=use_multiprocessing,
            shuffle=shuffle,
            initial_epoch=initial_epoch,
        )

    def evaluate_generator(
        self,
        generator: Any,
        steps: int | None = None,
        callbacks: Any = None,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
        verbose: int = 0,
    ) -> Any:
        """`evaluate` on a generator."""
        return self.evaluate(
            _need_steps(generator, steps, "steps"),
            steps=steps,
            callbacks=callbacks,
            max_queue_size=max_queue_size,
            workers=workers,
            use_multiprocessing=use_multiprocessing,
            verbose=verbose,
        )

    def predict_generator(
        self,
        generator: Any,
        steps: int | None = None,
        callbacks: Any = None,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
        verbose: int = 0,
    ) -> Any:
        """`predict` on a generator."""
        return self.predict(
            _need_steps(generator, steps, "steps"),
            steps=steps,
            callbacks=callbacks,
            max_queue_size=max_queue_size,
            workers=workers,
            use_multiprocessing=use_multiprocessing,
            verbose=verbose,
        )


def _need_steps(generator: Any, steps_given: int | None, name: str) -> Any:
    if steps_given is None and not isinstance(generator, Sequence | Dataset | Iterator):
        raise ValueError(
            f"`{name}=None` is only valid for a generator based on the `keras.utils.Sequence` class. Please "
            "specify "
            f"`{name}` or use the `keras.utils.Sequence` class."
        )
    return generator
