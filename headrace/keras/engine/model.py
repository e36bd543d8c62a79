"""Model: a network that is trained, evaluated and asked for predictions."""

from __future__ import annotations

from typing import Any

from headrace.data.dataset import Dataset
from headrace.data.iterators import Iterator
from headrace.keras.callbacks.callback import PREDICT, TEST, TRAIN
from headrace.keras.engine import loop, steps
from headrace.keras.engine.compiled import Compiled
from headrace.keras.engine.generator_runs import GeneratorRuns
from headrace.keras.engine.learned_inputs import LearnsInputs
from headrace.keras.engine.network import Network
from headrace.keras.engine.training import Training, element_tensors, source_of, standardized
from headrace.keras.engine.user_data import is_tensor
from headrace.keras.optimizers import named as optimizers
from headrace.keras.utils.data import Sequence
from headrace.layers import ops
from headrace.layers.engine.learning_phase import learning_phase, phase_that_was_set
from headrace.layers.engine.model_graph import get_graph
from headrace.layers.ops import nest


class Model(Compiled, LearnsInputs, GeneratorRuns, Network):
    """Layers with what it takes to train them.

    Args:
      inputs, outputs: tensors: the model is what leads from the ones to the others.
      name: its name.

    Example:
      >>> x = tf.keras.Input(shape=(784,))
      >>> model = tf.keras.Model(x, tf.keras.layers.Dense(10, activation="softmax")(x))
      >>> model.compile("adam", "sparse_categorical_crossentropy", metrics=["acc"])
      >>> model.fit(images, labels, epochs=5)
    """

    optimizer: Any = None
    history: Any = None
    stop_training = False
    _run_eagerly: Any = None
    _feed_inputs: Any = ()
    _feed_input_names: Any = ()
    _feed_input_shapes: Any = ()

    # -- compile --------------------------------------------------------------------------------
    def compile(
        self,
        optimizer: Any = "rmsprop",
        loss: Any = None,
        metrics: Any = None,
        loss_weights: Any = None,
        sample_weight_mode: Any = None,
        weighted_metrics: Any = None,
        target_tensors: Any = None,
        distribute: Any = None,
        **kwargs: Any,
    ) -> None:
        """Settle how the model is trained.

        Args:
          optimizer: an optimizer or its name.
          loss: a loss or its name; with several outputs also a list, or a dictionary by output.
          metrics: metrics or their names: a list, a list per output, or a dictionary by output.
          loss_weights: what each output's loss counts.
          sample_weight_mode: "temporal" for weights of time steps.
          weighted_metrics: metrics that look at the weights of examples.
          target_tensors: tensors in place of targets that are passed.
          distribute: not supported.
          **kwargs: `run_eagerly`; arguments of `Session.run`.
        """
        if distribute is not None:
            raise ValueError("`distribute` is not supported: one device trains a Keras model here.")
        self._run_eagerly = kwargs.pop("run_eagerly", None)
        self._experimental_run_tf_function = kwargs.pop("experimental_run_tf_function", True)
        if isinstance(optimizer, list | tuple):
            self.optimizer = [optimizers.get(one) for one in optimizer]
        else:
            self.optimizer = optimizers.get(optimizer)
        self.loss, self.loss_weights = loss or {}, loss_weights
        self.sample_weight_mode = sample_weight_mode
        if self.run_eagerly and target_tensors is not None:
            raise ValueError("target_tensors argument is not supported when running a model eagerly.")
        self._training = Training(
            loss=loss,
            metrics=metrics,
            loss_weights=loss_weights,
            sample_weight_mode=sample_weight_mode,
            weighted_metrics=weighted_metrics,
            target_tensors=target_tensors,
        )
        self._losses[:] = [x for x in self._losses if not getattr(x, "graph", get_graph()).runs_at_once]
        self._forget_functions()
        if self.built and self.inputs and self.outputs:
            self.complete_training()

    def complete_training(self, target_tensors: Any = None) -> None:
        """The outputs are known: what follows from `compile`."""
        state = self._training
        if target_tensors is not None:
            state.given["target_tensors"] = target_tensors
        if self.is_eager:
            state.complete(self)
            return
        with get_graph().as_default():
            state.complete(self)
            steps.build_loss(self)

    @property
    def is_eager(self) -> bool:
        """Do steps run op by op?"""
        return ops.executing_eagerly()

    @property
    def run_eagerly(self) -> bool:
        """Was it asked for that steps run op by op, in Python?"""
        if self._run_eagerly is True and not ops.executing_eagerly():
            raise ValueError("You can only set `run_eagerly=True` if eager execution is enabled.")
        if not self.dynamic:
            return bool(self._run_eagerly)
        if not ops.executing_eagerly():
            raise ValueError(
                "Your model contains layers that can only be successfully run in eager execution (layers "
                "constructed with `dynamic=True`). You must enable eager execution with "
                "`tf.enable_eager_execution()`."
            )
        if self._run_eagerly is False:
            raise ValueError(
                "Your model contains layers that can only be successfully run in eager execution (layers "
                "constructed with `dynamic=True`). You cannot set `run_eagerly=False`."
            )
        return True

    @run_eagerly.setter
    def run_eagerly(self, value: Any) -> None:
        self._run_eagerly = value

    def _check_call(self, method: str) -> None:
        """Runs can give the inputs and `training` to `call`, and nothing else."""
        if self._is_graph_network:
            return
        required = list(self._call_fn_args)
        defaults = getattr(self.call, "__defaults__", None)
        if defaults:
            required = required[: -len(defaults)]
        extra = [name for name in required if name != "training"][1:]
        if extra:
            raise ValueError(
                f"Models passed to `{method}` can only have `training` and the first argument in `call` as "
                f"positional arguments, found: {extra}."
            )

    def _check_compiled(self, method: str = "") -> None:
        if method:
            self._check_call(method)
        if not self.optimizer:
            raise RuntimeError(
                "You must compile your model before training/testing. Use `model.compile(optimizer, loss)`."
            )

    @property
    def has_phase(self) -> bool:
        """Is the learning phase given with each step?"""
        return phase_that_was_set() is None and not isinstance(learning_phase(), int)

    def make_function(self, mode: str, weighted: bool = False) -> Any:
        """The function of a mode, made when it is first needed."""
        if mode == PREDICT:
            if self._predict_function is None:
                with get_graph().as_default():
                    self._predict_function = steps.make_function(self, mode)
            return self._predict_function
        state = self._training
        if weighted and not self._feed_sample_weights:
            for endpoint in state.fed:
                endpoint.sample_weight_mode = endpoint.sample_weight_mode or "samplewise"
            with get_graph().as_default():
                steps.build_loss(self)
        if (mode, weighted) not in state.functions:
            with get_graph().as_default():
                state.functions[mode, weighted] = steps.make_function(self, mode, weighted)
        return state.functions[mode, weighted]

    _predict_function: Any = None

    def _forget_functions(self) -> None:
        self._predict_function = None
        if self._training is not None:
            self._training.functions.clear()

    train_function: Any = property(lambda self: self._training.functions.get((TRAIN, False)))
    test_function: Any = property(lambda self: self._training.functions.get((TEST, False)))
    predict_function: Any = property(lambda self: self._predict_function)

    def make_optimizer_state(self) -> None:
        """Make the variables of the optimizer, which otherwise come with the first step."""
        if self.is_eager:
            _ = self.optimizer.iterations
            self.optimizer._create_hypers()
            self.optimizer._create_slots(self._training.trainable_weights)
        else:
            self.make_function(TRAIN)

    def _make_train_function(self) -> None:
        self.make_function(TRAIN)

    def _make_test_function(self) -> None:
        self.make_function(TEST)

    def _make_predict_function(self) -> None:
        self.make_function(PREDICT)

    # -- runs -----------------------------------------------------------------------------------
    def fit(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        epochs: int = 1,
        verbose: int = 1,
        callbacks: Any = None,
        validation_split: float = 0.0,
        validation_data: Any = None,
        shuffle: Any = True,
        class_weight: Any = None,
        sample_weight: Any = None,
        initial_epoch: int = 0,
        steps_per_epoch: int | None = None,
        validation_steps: int | None = None,
        validation_freq: Any = 1,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Train the model.

        Args:
          x: inputs: arrays, tensors, a dataset, a generator or a Sequence.
          y: targets, unless they come with `x`.
          batch_size: samples per step; default 32.
          epochs: up to which epoch.
          verbose: 0 silent, 1 a progress bar, 2 a line per epoch.
          callbacks: what is called at epochs and batches.
          validation_split: the part at the end of the data to evaluate with.
          validation_data: data to evaluate with after each epoch.
          shuffle: another order of samples in each epoch? "batch": of batches.
          class_weight: what the examples of each class count.
          sample_weight: what each example counts.
          initial_epoch: the epoch to begin with.
          steps_per_epoch: batches per epoch, where the data does not say.
          validation_steps: batches of a validation.
          validation_freq: epochs between validations, or which epochs have one.
          max_queue_size, workers, use_multiprocessing: how batches are made ahead.
          **kwargs: `nb_epoch`, the old name of `epochs`.

        Returns:
          A History: the results of the epochs.
        """
        if "nb_epoch" in kwargs:
            ops.log_warning("The `nb_epoch` argument in `fit` has been renamed `epochs`.")
            epochs = kwargs.pop("nb_epoch")
        if kwargs:
            raise TypeError(f"Unrecognized keyword arguments: {kwargs}")
        self._check_compiled("fit")
        options: dict[str, Any] = {
            "max_queue_size": max_queue_size,
            "workers": workers,
            "use_multiprocessing": use_multiprocessing,
        }
        source = source_of(
            self,
            x,
            y,
            sample_weight,
            class_weight,
            batch_size,
            steps_per_epoch,
            "steps_per_epoch",
            epochs - initial_epoch,
            validation_split=validation_split,
            **options,
        )
        validation = None
        if validation_data is not None:
            validation = self._validation_source(validation_data, batch_size, validation_steps, options)
        elif validation_split and 0.0 < validation_split < 1.0:
            validation = _split(source, validation_split)
        elif validation_steps:
            raise ValueError("`validation_steps` should not be specified if `validation_data` is None.")
        try:
            return loop.fit(
                self, source, validation, epochs, initial_epoch, verbose, callbacks, shuffle, validation_freq
            )
        finally:
            source.close()
            if validation is not None:
                validation.close()

    def _validation_source(
        self, data: Any, batch_size: int | None, steps: int | None, options: dict[str, Any]
    ) -> Any:
        x, y, weights = data, None, None
        if isinstance(data, tuple | list):
            if len(data) not in (2, 3):
                raise ValueError(
                    "When passing a `validation_data` argument, it must contain either 2 items (x_val, "
                    "y_val), or "
                    "3 items (x_val, y_val, val_sample_weights), or alternatively it could be a dataset or a "
                    f"dataset or a dataset iterator. However we received `validation_data={data}`"
                )
            x, y, weights = (*data, None)[:3]
        return source_of(
            self,
            x,
            y,
            weights,
            batch_size=batch_size,
            steps=steps,
            steps_name="validation_steps",
            **options | {"workers": 0 if _is_generated(x) else 1},
        )

    def evaluate(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        verbose: int = 1,
        sample_weight: Any = None,
        steps: int | None = None,
        callbacks: Any = None,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
    ) -> Any:
        """The loss and the metrics on data.  Arguments as of `fit`.

        Returns:
          The loss, or a list of it and the metrics (`metrics_names`).
        """
        self._check_compiled("evaluate")
        source = source_of(
            self,
            x,
            y,
            sample_weight,
            batch_size=batch_size,
            steps=steps,
            max_queue_size=max_queue_size,
            workers=workers,
            use_multiprocessing=use_multiprocessing,
        )
        try:
            return _single(loop.evaluate(self, source, verbose, callbacks))
        finally:
            source.close()

    def predict(
        self,
        x: Any,
        batch_size: int | None = None,
        verbose: int = 0,
        steps: int | None = None,
        callbacks: Any = None,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
    ) -> Any:
        """The outputs for data.  Arguments as of `fit`.

        Returns:
          An array, or a list of them for several outputs.
        """
        source = source_of(
            self,
            x,
            batch_size=batch_size,
            steps=steps,
            with_targets=False,
            max_queue_size=max_queue_size,
            workers=workers,
            use_multiprocessing=use_multiprocessing,
        )
        try:
            return self._as_outputs(loop.predict(self, source, verbose, callbacks))
        finally:
            source.close()

    def _as_outputs(self, values: list[Any]) -> Any:
        return values[0] if len(values) == 1 else values

    # -- one batch ------------------------------------------------------------------------------
    def train_on_batch(
        self,
        x: Any,
        y: Any = None,
        sample_weight: Any = None,
        class_weight: Any = None,
        reset_metrics: bool = True,
    ) -> Any:
        """One update on one batch.

        Returns:
          The loss, or a list of it and the metrics.
        """
        self._check_compiled("train_on_batch")
        return self._on_batch(TRAIN, x, y, sample_weight, class_weight, reset_metrics)

    def test_on_batch(
        self, x: Any, y: Any = None, sample_weight: Any = None, reset_metrics: bool = True
    ) -> Any:
        """The loss and the metrics on one batch."""
        self._check_compiled("test_on_batch")
        return self._on_batch(TEST, x, y, sample_weight, None, reset_metrics)

    def _on_batch(
        self, mode: str, x: Any, y: Any, sample_weight: Any, class_weight: Any, reset_metrics: bool
    ) -> Any:
        x, y, sample_weight = _one_batch(x, y, sample_weight)
        if x is not None and not ops.executing_eagerly() and self.inputs and _has_tensors(x):
            x, y, sample_weight = _evaluated(x, y, sample_weight)
        fed = standardized(self, x, y, sample_weight, class_weight)
        found = steps.step_of(self, mode)(*fed)
        if reset_metrics:
            self.reset_metrics()
        return _single(found)

    def predict_on_batch(self, x: Any) -> Any:
        """The outputs for one batch."""
        x, _, _ = _one_batch(x, None, None)
        if not ops.executing_eagerly() and self.inputs and _has_tensors(x):
            x, _, _ = _evaluated(x, None, None)
        fed = standardized(self, x)
        return self._as_outputs(steps.step_of(self, PREDICT)(*fed))


def _single(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else values


def _split(source: Any, part: float) -> Any:
    """The end of the arrays, as a source of its own; `source` keeps the rest."""
    if not hasattr(source, "x") or source.mode != "samples":
        raise ValueError(
            "If your data is in the form of symbolic tensors, you cannot use `validation_split`."
        )
    at = int(source.count * (1.0 - part))

    def cut(arrays: list[Any], rows: slice) -> list[Any]:
        return [None if a is None else a[rows] for a in arrays]

    kinds = (source.x, source.y, source.weights)
    late = [None if kind is None else cut(kind, slice(at, None)) for kind in kinds]
    source.x, source.y = cut(source.x, slice(0, at)), cut(source.y, slice(0, at))
    if source.weights is not None:
        source.weights = cut(source.weights, slice(0, at))
    rest = source.count - at
    source.count = at
    found = type(source)(*late, source.batch_size)
    found.count = rest
    return found


def _is_generated(x: Any) -> bool:
    return isinstance(x, Sequence) or hasattr(x, "__next__")


def _one_batch(x: Any, y: Any, weights: Any) -> tuple[Any, Any, Any]:
    return element_tensors(x) if isinstance(x, Dataset | Iterator) else (x, y, weights)


def _has_tensors(x: Any) -> bool:
    return any(is_tensor(v) for v in nest.flatten(x))


def _evaluated(*data: Any) -> tuple[Any, ...]:
    """Tensors of a graph as arrays, all from one run."""
    tensors = [v for v in nest.flatten(data) if is_tensor(v)]
    values = dict(zip(map(id, tensors), sessions.session_with_weights().run(tensors)))
    return tuple(nest.map_structure(lambda v: values.get(id(v), v), part) for part in data)


sessions = ops.late("headrace.layers.engine.weight_values")
