"""The weights of a model in a file: HDF5, or a checkpoint in TF's format."""

from __future__ import annotations

import os
from typing import Any

from headrace.core.errors import DataLossError, OpError
from headrace.keras.saving import hdf5
from headrace.layers import ops
from headrace.layers.engine.weight_values import session_with_weights
from headrace.train.checkpoints.checkpoint_files import write_state
from headrace.train.checkpoints.checkpoint_reader import NewCheckpointReader
from headrace.train.checkpoints.object_checkpoint import Checkpoint


def may_write(path: str, overwrite: bool) -> bool:
    """May a file be written?  A user at a terminal is asked where it is there."""
    if overwrite or not os.path.isfile(path):
        return True
    answer = ""
    while answer not in ("y", "n"):
        answer = input(f"[WARNING] {path} already exists - overwrite? [y/n]").strip().lower()
    return answer == "y"


def save_weights(model: Any, filepath: Any, overwrite: bool = True, save_format: str | None = None) -> None:
    """Write the weights of a model."""
    model._check_weights_exist()
    filepath = os.fspath(filepath)
    by_name = hdf5.is_hdf5(filepath)
    kind = (save_format or ("h5" if by_name else "tf")).lower().strip()
    if kind in ("tensorflow", "tf"):
        kind = "tf"
    elif kind in ("hdf5", "h5", "keras"):
        kind = "h5"
    else:
        raise ValueError(f'Unknown format "{save_format}". Was expecting one of {{"tf", "h5"}}.')
    if kind == "tf" and by_name:
        raise ValueError(
            f'save_weights got save_format="tf"/"tensorflow", but the filepath ("{filepath}") looks like an '
            "HDF5 "
            'file. Omit the ".h5"/".keras" when saving in TensorFlow format.'
        )
    if not may_write(filepath + ".index" if kind == "tf" else filepath, overwrite):
        return
    if kind == "h5":
        with hdf5.library("save_weights").File(filepath, "w") as file:
            hdf5.write_weights(file, model.layers)
        return
    session = None if ops.executing_eagerly() else session_with_weights()
    checkpoint_of(model).write(filepath, session=session)
    folder = os.path.dirname(filepath)
    write_state(folder, filepath, [filepath], None, True)


def checkpoint_of(model: Any) -> Any:
    """The model as an object whose parts are saved under the names that Keras gives them."""
    return Checkpoint(**model.checkpoint_parts())


def load_weights(model: Any, filepath: Any, by_name: bool = False) -> Any:
    """Read the weights of a model."""
    filepath = os.fspath(filepath)
    if not hdf5.is_hdf5(filepath) and _is_checkpoint(filepath):
        if by_name:
            raise NotImplementedError(
                "Weights may only be loaded based on topology into Models when loading TensorFlow-formatted "
                "weights "
                "(got by_name=True to load_weights)."
            )
        status = checkpoint_of(model).restore(filepath)
        if not ops.executing_eagerly():
            status.run_restore_ops(session_with_weights())
        return status
    h5py = hdf5.library("load_weights")
    if not model._is_graph_network and not model.built:
        raise ValueError(
            "Unable to load weights saved in HDF5 format into a subclassed Model which has not created its "
            "variables "
            "yet. Call the Model first, then load the weights."
        )
    with h5py.File(filepath, "r") as file:
        group = file["model_weights"] if "layer_names" not in file.attrs and "model_weights" in file else file
        hdf5.read_all_weights(group, model.layers, by_name)
    return None


def _is_checkpoint(filepath: str) -> bool:
    try:
        NewCheckpointReader(filepath)
    except DataLossError:
        return False
    except OpError:
        if os.path.isfile(filepath):
            return False
        raise
    return True
