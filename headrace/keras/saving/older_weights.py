"""Weights of other layers and of older files, as those of a layer: nested layers, Keras 1, cuDNN."""

from __future__ import annotations

from typing import Any

import numpy as np

_CONVOLUTIONS = ("Conv1D", "Conv2D", "Conv3D", "Conv2DTranspose", "ConvLSTM2D")


def fitted(
    layer: Any, weights: list[Any], version: str | None = None, backend: str | None = None
) -> list[Any]:
    """Arrays of a file as arrays of a layer."""
    kind = type(layer).__name__
    if kind == "Bidirectional":
        half = len(weights) // 2
        forward = fitted(layer.forward_layer, weights[:half], version, backend)
        return forward + fitted(layer.backward_layer, weights[half:], version, backend)
    if kind == "TimeDistributed":
        return fitted(layer.layer, weights, version, backend)
    if hasattr(layer, "_is_graph_network"):
        return _of_model(layer, weights, version, backend)
    if version == "1":
        weights = _of_keras_1(layer, kind, list(weights))
    if kind in _CONVOLUTIONS and weights:
        if backend == "theano":
            weights = [_flipped(weights[0]), *weights[1:]]
            if kind == "ConvLSTM2D":
                weights[1] = _flipped(weights[1])
        if tuple(layer.weights[0].shape.as_list()) != weights[0].shape and weights[0].ndim == 4:
            weights = [np.transpose(weights[0], (3, 2, 0, 1)), *weights[1:]]
            if kind == "ConvLSTM2D":
                weights[1] = np.transpose(weights[1], (3, 2, 0, 1))
    return _of_recurrent(layer, kind, weights)


def _of_model(model: Any, weights: list[Any], version: Any, backend: Any) -> list[Any]:
    trained = weights[: len(model.trainable_weights)]
    others = weights[len(model.trainable_weights) :]
    found: tuple[list[Any], list[Any]] = ([], [])
    for layer in model.layers:
        t, n = len(layer.trainable_weights), len(layer.non_trainable_weights)
        if t or n:
            arrays = fitted(layer, trained[:t] + others[:n], version, backend)
            found[0].extend(arrays[:t])
            found[1].extend(arrays[t:])
            trained, others = trained[t:], others[n:]
    return found[0] + found[1]


def _flipped(kernel: Any) -> Any:
    """A kernel turned around along space."""
    return kernel[(*[slice(None, None, -1)] * (kernel.ndim - 2), slice(None), slice(None))]


def _gates(weights: list[Any], order: tuple[int, ...]) -> list[Any]:
    """Separate weights per gate, side by side; (kernel, recurrent kernel, bias) of each gate."""
    return [np.concatenate([weights[3 * gate + part] for gate in order], axis=-1) for part in range(3)]


def _of_keras_1(layer: Any, kind: str, weights: list[Any]) -> list[Any]:
    if kind == "Conv1D":
        shape = weights[0].shape
        if shape[:2] != (layer.kernel_size[0], 1) or shape[3] != layer.filters:
            weights[0] = np.transpose(weights[0], (2, 3, 1, 0))
        weights[0] = weights[0][:, 0, :, :]
    elif kind == "Conv2D" and layer.data_format == "channels_first":
        weights[0] = np.transpose(weights[0], (2, 3, 1, 0))
    elif kind == "Conv2DTranspose":
        order = (0, 1, 3, 2) if layer.data_format == "channels_last" else (2, 3, 0, 1)
        weights[0] = np.transpose(weights[0], order)
    elif kind == "Conv3D" and layer.data_format == "channels_first":
        weights[0] = np.transpose(weights[0], (2, 3, 4, 1, 0))
    elif kind == "GRU" and len(weights) == 9:
        weights = _gates(weights, (0, 1, 2))
    elif kind in ("LSTM", "ConvLSTM2D") and len(weights) == 12:
        weights = _gates(weights, (0, 2, 1, 3))
        if kind == "ConvLSTM2D" and layer.data_format == "channels_first":
            weights[:2] = [np.transpose(w, (2, 3, 1, 0)) for w in weights[:2]]
    return weights


def _per_gate(kernel: Any, change: Any, gates: int) -> Any:
    return np.hstack([change(part) for part in np.hsplit(kernel, gates)])


def _turned(from_cudnn: bool) -> Any:
    order: Any = "F" if from_cudnn else "C"
    return lambda kernel: kernel.T.reshape(kernel.shape, order=order)


def _of_recurrent(layer: Any, kind: str, weights: list[Any]) -> list[Any]:
    """Between layers and cuDNN's, whose kernels are turned and whose biases are two."""
    if kind not in ("LSTM", "CuDNNLSTM", "GRU", "CuDNNGRU") or len(weights) != 3:
        return weights
    gates = 4 if "LSTM" in kind else 3
    units, shape = weights[1].shape[0], weights[2].shape
    known: dict[Any, str]
    width = units * gates
    if kind.endswith("LSTM"):
        known = {(2 * width,): "CuDNNLSTM", (width,): "LSTM"}
        target = "LSTM"
    else:
        known = {
            (2 * width,): "CuDNNGRU",
            (2, width): "GRU(reset_after=True)",
            (width,): "GRU(reset_after=False)",
        }
        target = f"GRU(reset_after={layer.reset_after})"
    if shape not in known:
        raise ValueError(f"Invalid bias shape: {shape}")
    source = known[shape]
    if source == target:
        return weights
    if "GRU(reset_after=False)" in (source, target):
        raise ValueError(f"{source} is not compatible with {kind if 'CuDNN' in kind else target}")
    kernel = _per_gate(weights[0], _turned(True), gates)
    recurrent = _per_gate(weights[1], lambda part: part.T, gates)
    if gates == 4:
        return [kernel, recurrent, np.sum(np.split(weights[2], 2, axis=0), axis=0)]
    return [kernel, recurrent, np.array(weights[2]).reshape((2, -1))]
