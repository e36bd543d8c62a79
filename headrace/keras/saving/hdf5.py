"""Weights and models in HDF5 files, as Keras lays them out.  Needs h5py (the extra `keras`)."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from headrace.core import log
from headrace.keras.saving.architecture import from_config, metadata, training_arguments
from headrace.keras.saving.older_weights import fitted
from headrace.layers.engine.weight_values import load_weights, read_weights

KERAS_VERSION = "2.2.4-tf"
HEADER_LIMIT = 64512  # octets of an attribute that HDF5 keeps in an object's header
EXTENSIONS = (".h5", ".hdf5", ".keras")


def library(what: str) -> Any:
    """h5py, or an error that says what needs it."""
    try:
        return importlib.import_module("h5py")
    except ImportError:
        raise ImportError(f"`{what}` requires h5py.") from None


def is_hdf5(path: Any) -> bool:
    """Does the name of a file say so?"""
    return str(path).endswith(EXTENSIONS)


@contextmanager
def opened(place: Any, mode: str, what: str) -> Iterator[Any]:
    """A file by its name, or one that is open already."""
    h5py = library(what)
    if isinstance(place, h5py.File):
        yield place
        return
    with h5py.File(place, mode) as file:
        yield file


def weights_of(layer: Any) -> list[Any]:
    """The weights in the order of files: trained ones first."""
    return [*layer.trainable_weights, *layer.non_trainable_weights]


# -- weights ----------------------------------------------------------------------------------------
def _write_arrays(group: Any, variables: list[Any]) -> None:
    names = [v.name for v in variables]
    write_attribute(group, "weight_names", names)
    for name, value in zip(names, read_weights(variables)):
        value = np.asarray(value)
        group.create_dataset(name, value.shape, dtype=value.dtype)[() if not value.shape else slice(None)] = (
            value
        )


def write_weights(group: Any, layers: list[Any]) -> None:
    """The weights of layers, a group for each."""
    write_attribute(group, "layer_names", [layer.name for layer in layers])
    group.attrs["backend"] = b"tensorflow"
    group.attrs["keras_version"] = KERAS_VERSION.encode("utf8")
    for layer in layers:
        _write_arrays(group.create_group(layer.name), weights_of(layer))


def read_all_weights(group: Any, layers: list[Any], by_name: bool = False) -> None:
    """Give layers the weights of a group: in their order, or by their names."""
    version = _text(group.attrs.get("keras_version", b"1"))
    backend = group.attrs.get("backend")
    backend = None if backend is None else _text(backend)
    pairs = _by_name(group, layers) if by_name else _in_order(group, layers)
    variables: list[Any] = []
    values: list[Any] = []
    for number, name, layer, stored in pairs:
        own = weights_of(layer)
        arrays = fitted(layer, stored, version, backend)
        _check(number, name, layer, own, arrays, by_name)
        variables += own
        values += arrays
    load_weights(variables, [np.asarray(v) for v in values])


def _arrays(group: Any) -> list[Any]:
    return [np.asarray(group[name]) for name in read_attribute(group, "weight_names")]


def _in_order(group: Any, layers: list[Any]) -> Iterator[Any]:
    names = [n for n in read_attribute(group, "layer_names") if read_attribute(group[n], "weight_names")]
    weighted = [layer for layer in layers if weights_of(layer)]
    if len(names) != len(weighted):
        raise ValueError(
            f"You are trying to load a weight file containing {len(names)} layers into a model with "
            f"{len(weighted)} "
            "layers."
        )
    for number, (name, layer) in enumerate(zip(names, weighted)):
        yield number, name, layer, _arrays(group[name])


def _by_name(group: Any, layers: list[Any]) -> Iterator[Any]:
    for number, name in enumerate(read_attribute(group, "layer_names")):
        for layer in layers:
            if layer.name == name:
                yield number, name, layer, _arrays(group[name])


def _check(number: int, name: str, layer: Any, own: list[Any], arrays: list[Any], by_name: bool) -> None:
    if len(arrays) != len(own):
        if by_name:
            raise ValueError(
                f'Layer #{number} (named "{layer.name}") expects {len(own)} weight(s), but the saved '
                "weights have "
                f"{len(arrays)} element(s)."
            )
        raise ValueError(
            f'Layer #{number} (named "{layer.name}" in the current model) was found to correspond to layer '
            f"{name} in "
            f"the save file. However the new layer {layer.name} expects {len(own)} weights, but the saved "
            "weights "
            f"have {len(arrays)} elements."
        )
    for variable, array in zip(own, arrays):
        shape = tuple(variable.shape.as_list())
        if shape != tuple(array.shape):
            if by_name:
                raise ValueError(
                    f'Layer #{number} (named "{layer.name}"), weight {variable} has shape {shape}, but the '
                    "saved "
                    f"weight has shape {tuple(array.shape)}."
                )
            raise ValueError(
                f"Shapes {shape} and {tuple(array.shape)} are incompatible: weight {variable.name} of layer "
                f"{layer.name}"
            )


# -- models -----------------------------------------------------------------------------------------
def save_model(model: Any, place: Any, include_optimizer: bool = True) -> None:
    """Architecture, weights, and how it was compiled, with the optimizer's state."""
    with opened(place, "w", "save_model") as file:
        for key, value in metadata(model, include_optimizer).items():
            is_plain = not isinstance(value, dict | list | tuple)
            file.attrs[key] = value if is_plain else json.dumps(value, default=as_json).encode("utf8")
        write_weights(file.create_group("model_weights"), model.layers)
        optimizer = model.optimizer
        if include_optimizer and optimizer and hasattr(optimizer, "get_config"):
            kept = getattr(optimizer, "weights", None) if not hasattr(optimizer, "optimizer") else None
            if kept:
                _write_arrays(file.create_group("optimizer_weights"), kept)
        file.flush()


def load_model(place: Any, custom_objects: Any = None, compile: bool = True) -> Any:
    """The model that `save_model` wrote."""
    with opened(place, "r", "load_model") as file:
        config = file.attrs.get("model_config")
        if config is None:
            raise ValueError("No model found in config file.")
        model = from_config(json.loads(_text(config)), custom_objects)
        read_all_weights(file["model_weights"], model.layers)
        if compile:
            _compile(model, file, custom_objects)
    return model


def _compile(model: Any, file: Any, custom_objects: Any) -> None:
    training = file.attrs.get("training_config")
    if training is None:
        log.warning(
            "No training configuration found in save file: the model was *not* compiled. Compile it manually."
        )
        return
    model.compile(**training_arguments(json.loads(_text(training)), custom_objects))
    if "optimizer_weights" not in file:
        return
    if not model._is_graph_network:
        log.warning(
            "Sequential models without an `input_shape` passed to the first layer cannot reload their "
            "optimizer "
            "state. As a result, your model isstarting with a freshly initialized optimizer."
        )
        return
    model.make_optimizer_state()
    try:
        model.optimizer.set_weights(_arrays(file["optimizer_weights"]))
    except ValueError:
        log.warning(
            "Error in loading the saved optimizer state. As a result, your model is starting with a freshly "
            "initialized optimizer."
        )


# -- attributes, which HDF5 limits ------------------------------------------------------------------
def write_attribute(group: Any, name: str, texts: list[str]) -> None:
    """A list of texts, in parts where it is too large for one attribute."""
    data = [text.encode("utf8") for text in texts]
    large = [text for text in data if len(text) > HEADER_LIMIT]
    if large:
        raise RuntimeError(
            "The following attributes cannot be saved to HDF5 file because they are larger than "
            f"{HEADER_LIMIT} "
            f"bytes: {', '.join(map(str, large))}"
        )
    array, count = np.asarray(data), 1
    while any(part.nbytes > HEADER_LIMIT for part in np.array_split(array, count)):
        count += 1
    if count == 1:
        group.attrs[name] = data
        return
    for number, part in enumerate(np.array_split(array, count)):
        group.attrs[f"{name}{number}"] = part


def read_attribute(group: Any, name: str) -> list[str]:
    """The texts that `write_attribute` wrote."""
    if name in group.attrs:
        return [_text(text) for text in group.attrs[name]]
    found: list[str] = []
    number = 0
    while f"{name}{number}" in group.attrs:
        found += [_text(text) for text in group.attrs[f"{name}{number}"]]
        number += 1
    return found


def _text(value: Any) -> str:
    return value.decode("utf8") if isinstance(value, bytes) else str(value)


def as_json(value: Any) -> Any:
    """What JSON lacks: configurations, arrays, functions by their names."""
    if hasattr(value, "get_config"):
        return {"class_name": type(value).__name__, "config": value.get_config()}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if hasattr(value, "as_list"):
        return value.as_list()
    if callable(value):
        return value.__name__
    if hasattr(value, "name"):
        return value.name
    raise TypeError("Not JSON Serializable:", value)
