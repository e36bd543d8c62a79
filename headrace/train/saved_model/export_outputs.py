"""What a model gives when it is exported, and the signatures that are made of it.

In: tensors of a graph, as an estimator or a Keras model names them.  Out: SignatureDefs.  An output says
which kind of signature it is; one that does not fit the receiving tensors is left out, and the log says why.
"""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

from headrace.core import dtypes, log
from headrace.core.text import as_bytes
from headrace.formats import files
from headrace.graph.defaults import get_default_graph
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.array.constant import constant
from headrace.train.saved_model import saved_model_names as names
from headrace.train.saved_model import signatures


class EstimatorModeKeys:
    """How estimators call what a graph is for."""

    TRAIN, EVAL, PREDICT = "train", "eval", "infer"


class KerasModeKeys:
    """How Keras calls it."""

    TRAIN, TEST, PREDICT = "train", "test", "predict"


def is_predict(mode: Any) -> bool:
    return mode in (KerasModeKeys.PREDICT, EstimatorModeKeys.PREDICT)


def is_eval(mode: Any) -> bool:
    return mode in (KerasModeKeys.TEST, EstimatorModeKeys.EVAL)


def is_train(mode: Any) -> bool:
    return mode in (KerasModeKeys.TRAIN, EstimatorModeKeys.TRAIN)


class ModeKeyMap(Mapping[Any, Any]):
    """A mapping from modes, whoever's word for them it is."""

    def __init__(self, **kwargs: Any) -> None:
        self._given = list(kwargs)
        self._values: dict[str, Any] = {}
        for key, value in kwargs.items():
            mode = self._mode(key)
            if mode in self._values:
                raise ValueError(f"Error creating ModeKeyMap. Multiple keys/values found for {mode} mode.")
            self._values[mode] = value

    @staticmethod
    def _mode(key: Any) -> str:
        for holds, mode in ((is_train, "train"), (is_eval, "test"), (is_predict, "predict")):
            if holds(key):
                return mode
        raise ValueError(f"Invalid mode key: {key}.")

    def __getitem__(self, key: Any) -> Any:
        return self._values[self._mode(key)]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._given)

    def __len__(self) -> int:
        return len(self._given)


EXPORT_TAG_MAP = ModeKeyMap(predict=[names.SERVING], train=[names.TRAINING], test=[names.EVAL])
SIGNATURE_KEY_MAP = ModeKeyMap(
    predict=names.DEFAULT_SERVING_SIGNATURE_DEF_KEY,
    train=names.DEFAULT_TRAIN_SIGNATURE_DEF_KEY,
    test=names.DEFAULT_EVAL_SIGNATURE_DEF_KEY,
)
SINGLE_FEATURE_DEFAULT_NAME, SINGLE_RECEIVER_DEFAULT_NAME = "feature", "input"
SINGLE_LABEL_DEFAULT_NAME = "label"


# -- outputs --------------------------------------------------------------------------------------
class ExportOutput(ABC):
    """An output of a model that can be served."""

    _SEPARATOR_CHAR = "/"

    @abstractmethod
    def as_signature_def(self, receiver_tensors: dict[str, Any]) -> Any:
        """The SignatureDef of these inputs and this output; ValueError where they do not fit."""

    def _check_output_key(self, key: Any, error_label: str) -> str:
        if isinstance(key, tuple):  # of several outputs in one dictionary
            key = self._SEPARATOR_CHAR.join(key)
        if not isinstance(key, str):
            raise ValueError(f"{error_label} output key must be a string; got {key}.")
        return key

    def _wrap_and_check_outputs(
        self, outputs: Any, single_output_default_name: str, error_label: str | None = None
    ) -> dict[str, Any]:
        """Named tensors of one or several outputs."""
        if not isinstance(outputs, dict):
            outputs = {single_output_default_name: outputs}
        label = error_label or single_output_default_name
        checked = {self._check_output_key(key, label): value for key, value in outputs.items()}
        for value in checked.values():
            if not isinstance(value, Tensor):
                raise ValueError(f"{label} output value must be a Tensor; got {value}.")
        return checked


def _single_example(receiver_tensors: dict[str, Any], kind: str) -> Any:
    """The one tensor of text that classification and regression take."""
    values = list(receiver_tensors.values())
    if len(values) != 1 or dtypes.as_dtype(values[0].dtype) != dtypes.string:
        raise ValueError(f"{kind} input must be a single string Tensor; got {receiver_tensors}")
    return values[0]


def _is_floating(value: Any) -> bool:
    return isinstance(value, Tensor) and bool(value.dtype.is_floating)


class ClassificationOutput(ExportOutput):
    """Scores of classes, their names, or both."""

    def __init__(self, scores: Any = None, classes: Any = None) -> None:
        if scores is not None and not _is_floating(scores):
            raise ValueError(f"Classification scores must be a float32 Tensor; got {scores}")
        if classes is not None and not (isinstance(classes, Tensor) and classes.dtype == dtypes.string):
            raise ValueError(f"Classification classes must be a string Tensor; got {classes}")
        if scores is None and classes is None:
            raise ValueError("At least one of scores and classes must be set.")
        self.scores, self.classes = scores, classes

    def as_signature_def(self, receiver_tensors: dict[str, Any]) -> Any:
        examples = _single_example(receiver_tensors, "Classification")
        return signatures.classification_signature_def(examples, self.classes, self.scores)


class RegressionOutput(ExportOutput):
    """A number for each example."""

    def __init__(self, value: Any) -> None:
        if not _is_floating(value):
            raise ValueError(f"Regression output value must be a float32 Tensor; got {value}")
        self.value = value

    def as_signature_def(self, receiver_tensors: dict[str, Any]) -> Any:
        return signatures.regression_signature_def(
            _single_example(receiver_tensors, "Regression"), self.value
        )


class PredictOutput(ExportOutput):
    """Named tensors of any kind."""

    _SINGLE_OUTPUT_DEFAULT_NAME = "output"

    def __init__(self, outputs: Any) -> None:
        self.outputs = self._wrap_and_check_outputs(outputs, self._SINGLE_OUTPUT_DEFAULT_NAME, "Prediction")

    def as_signature_def(self, receiver_tensors: dict[str, Any]) -> Any:
        return signatures.predict_signature_def(receiver_tensors, self.outputs)


class SupervisedOutput(ExportOutput):
    """Loss, predictions and metrics of a graph that trains or evaluates."""

    LOSS_NAME, PREDICTIONS_NAME, METRICS_NAME = "loss", "predictions", "metrics"
    METRIC_VALUE_SUFFIX, METRIC_UPDATE_SUFFIX = "value", "update_op"
    _METHOD_NAME = ""

    def __init__(self, loss: Any = None, predictions: Any = None, metrics: Any = None) -> None:
        self.loss = None if loss is None else self._named(loss, self.LOSS_NAME)
        self.predictions = None if predictions is None else self._named(predictions, self.PREDICTIONS_NAME)
        self.metrics = None if metrics is None else self._wrap_and_check_metrics(metrics)

    def _named(self, outputs: Any, kind: str) -> dict[str, Any]:
        checked = self._wrap_and_check_outputs(outputs, kind)
        return {self._prefix_key(key, kind): value for key, value in checked.items()}

    def _prefix_key(self, key: str, output_name: str) -> str:
        return key if key.startswith(output_name) else output_name + self._SEPARATOR_CHAR + key

    def _wrap_and_check_metrics(self, metrics: Any) -> dict[str, Any]:
        """The value and the update of each metric, by name."""
        if not isinstance(metrics, dict):
            metrics = {self.METRICS_NAME: metrics}
        outputs: dict[str, Any] = {}
        for key, metric in metrics.items():
            value, update = metric if isinstance(metric, tuple) else (metric.result(), *metric.updates)
            key = self._prefix_key(self._check_output_key(key, self.METRICS_NAME), self.METRICS_NAME)
            if not isinstance(value, Tensor):
                raise ValueError(f"{key} output value must be a Tensor; got {value}.")
            if not isinstance(update, Tensor | Node):
                raise ValueError(f"{key} update_op must be a Tensor or Operation; got {update}.")
            if isinstance(update, Node):  # a signature names tensors
                with get_default_graph().control_dependencies([update]):
                    update = constant([], name="metric_op_wrapper")
            outputs[f"{key}{self._SEPARATOR_CHAR}{self.METRIC_VALUE_SUFFIX}"] = value
            outputs[f"{key}{self._SEPARATOR_CHAR}{self.METRIC_UPDATE_SUFFIX}"] = update
        return outputs

    def as_signature_def(self, receiver_tensors: dict[str, Any]) -> Any:
        return signatures.supervised_signature_def(
            self._METHOD_NAME, receiver_tensors, self.loss, self.predictions, self.metrics
        )


class TrainOutput(SupervisedOutput):
    """Of a graph that trains."""

    _METHOD_NAME = names.SUPERVISED_TRAIN_METHOD_NAME


class EvalOutput(SupervisedOutput):
    """Of a graph that evaluates."""

    _METHOD_NAME = names.SUPERVISED_EVAL_METHOD_NAME


# -- signatures of outputs ------------------------------------------------------------------------
def get_export_outputs(export_outputs: Any, predictions: Any) -> dict[str, Any]:
    """The outputs to serve, by name; without any, the predictions.  One of them is the default."""
    default = names.DEFAULT_SERVING_SIGNATURE_DEF_KEY
    if export_outputs is None:
        export_outputs = {default: PredictOutput(predictions)}
    if not isinstance(export_outputs, dict):
        raise TypeError(f"export_outputs must be dict, given: {export_outputs}")
    if not all(isinstance(output, ExportOutput) for output in export_outputs.values()):
        raise TypeError(f"Values in export_outputs must be ExportOutput objects. Given: {export_outputs}")
    if len(export_outputs) == 1:
        export_outputs.setdefault(default, *export_outputs.values())
    if len(export_outputs) > 1 and default not in export_outputs:
        raise ValueError(
            "Multiple export_outputs were provided, but none of them is specified as the default.  "
            "Do this by naming one of them with signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY."
        )
    return export_outputs


def export_outputs_for_mode(
    mode: Any,
    serving_export_outputs: Any = None,
    predictions: Any = None,
    loss: Any = None,
    metrics: Any = None,
) -> dict[str, Any]:
    """What a graph for this mode exports."""
    if mode not in SIGNATURE_KEY_MAP:
        raise ValueError(
            f"Export output type not found for mode: {mode}. Expected one of: {SIGNATURE_KEY_MAP.keys()}.\n"
            "One likely error is that V1 Estimator Modekeys were somehow passed to this function. "
            "Please ensure that you are using the new ModeKeys."
        )
    if is_predict(mode):
        return get_export_outputs(serving_export_outputs, predictions)
    kind = TrainOutput if is_train(mode) else EvalOutput
    return {SIGNATURE_KEY_MAP[mode]: kind(loss=loss, predictions=predictions, metrics=metrics)}


def build_all_signature_defs(
    receiver_tensors: Any,
    export_outputs: Any,
    receiver_tensors_alternatives: Any = None,
    serving_only: bool = True,
) -> dict[str, Any]:
    """The signature of every output for every set of inputs that fits it."""
    if not isinstance(export_outputs, dict):
        raise ValueError(f"export_outputs must be a dict and not{type(export_outputs)}")
    made: dict[str, Any] = {}
    refused: dict[str, str] = {}
    receivers = {None: receiver_tensors, **(receiver_tensors_alternatives or {})}
    for receiver, tensors in receivers.items():
        inputs = tensors if isinstance(tensors, dict) else {SINGLE_RECEIVER_DEFAULT_NAME: tensors}
        for key, output in export_outputs.items():
            name = str(key or "None") if receiver is None else f"{receiver or 'None'}:{key or 'None'}"
            try:
                made[name] = output.as_signature_def(inputs)
            except ValueError as error:
                refused[name] = str(error)
    _log_signatures(made, refused)
    return {k: v for k, v in made.items() if signatures.is_valid_signature(v)} if serving_only else made


_METHODS = {
    names.CLASSIFY_METHOD_NAME: "Classify",
    names.REGRESS_METHOD_NAME: "Regress",
    names.PREDICT_METHOD_NAME: "Predict",
    names.SUPERVISED_TRAIN_METHOD_NAME: "Train",
    names.SUPERVISED_EVAL_METHOD_NAME: "Eval",
}


def _log_signatures(made: dict[str, Any], refused: dict[str, str]) -> None:
    by_method: dict[str, list[str]] = {method: [] for method in _METHODS}
    for name, signature in made.items():
        by_method.setdefault(signature.method_name, []).append(name)
    for method, included in by_method.items():
        log.info(f"Signatures INCLUDED in export for {_METHODS.get(method, method)}: {included or 'None'}")
    if refused:
        log.info(
            "Signatures EXCLUDED from export because they cannot be be served via TensorFlow Serving APIs:"
        )
    for name, why in refused.items():
        log.info(f"'{name}' : {why}")
    if not made:
        log.warning("Export includes no signatures!")
    elif names.DEFAULT_SERVING_SIGNATURE_DEF_KEY not in made:
        log.warning("Export includes no default signature!")


# -- folders --------------------------------------------------------------------------------------
_ATTEMPTS = 10


def get_timestamped_export_dir(export_dir_base: Any) -> bytes:
    """A folder below the base that is not there, named by the second."""
    for attempt in range(1, _ATTEMPTS + 1):
        folder = os.path.join(as_bytes(export_dir_base), as_bytes(str(int(time.time()))))
        if not files.exists_v1(folder):
            return folder
        time.sleep(1)
        log.warning(f"Directory {folder!r} already exists; retrying (attempt {attempt}/{_ATTEMPTS})")
    raise RuntimeError(f"Failed to obtain a unique export directory name after {_ATTEMPTS} attempts.")


def get_temp_export_dir(timestamped_export_dir: Any) -> bytes:
    """Where it is written before it is whole."""
    parent, name = os.path.split(timestamped_export_dir)
    return os.path.join(as_bytes(parent), b"temp-" + as_bytes(name))
