"""Models in files: HDF5, SavedModel, JSON and YAML of the architecture."""

from __future__ import annotations

import json
import os
from typing import Any

from headrace.keras.saving import architecture, hdf5
from headrace.keras.saving.weights_files import may_write


def to_json(model: Any, **kwargs: Any) -> str:
    """The architecture as JSON."""
    return json.dumps(architecture.model_config(model), default=hdf5.as_json, **kwargs)


def to_yaml(model: Any, **kwargs: Any) -> str:
    """The architecture as YAML."""
    library = architecture.yaml("to_yaml")
    plain = json.loads(to_json(model))
    return str(library.dump(plain, **kwargs))


def save_model(
    model: Any,
    filepath: Any,
    overwrite: bool = True,
    include_optimizer: bool = True,
    save_format: str | None = None,
    signatures: Any = None,
    options: Any = None,
) -> None:
    """Write a model: a file in HDF5 by default, a folder for save_format="tf".

    Args:
      model: the model.
      filepath: the file or folder.
      overwrite: without asking?
      include_optimizer: with the optimizer's state?
      save_format: "h5" or "tf".
      signatures: of a SavedModel.
      options: accepted.
    """
    is_open = not isinstance(filepath, str | os.PathLike)
    if (save_format or "h5") == "h5" or is_open or hdf5.is_hdf5(filepath):
        if not model._is_graph_network and not hasattr(model, "_row"):
            raise NotImplementedError(
                "Saving the model to HDF5 format requires the model to be a Functional model or a "
                "Sequential model. "
                "It does not work for subclassed models, because such models are defined via the body of a "
                "Python "
                "method, which isn't safely serializable. Consider saving to the Tensorflow SavedModel "
                "format (by "
                'setting save_format="tf") or using `save_weights`.'
            )
        if is_open or may_write(os.fspath(filepath), overwrite):
            hdf5.save_model(model, filepath, include_optimizer)
        return
    raise NotImplementedError(
        "Saving a Keras model as a SavedModel is not in Headrace yet: save it as HDF5, or its weights in "
        "TF's format."
    )


def load_model(filepath: Any, custom_objects: Any = None, compile: bool = True) -> Any:
    """Read a model that `save_model` wrote.

    Args:
      filepath: the file.
      custom_objects: what names in its configuration mean.
      compile: compile it as it was?
    """
    h5py = hdf5.library("load_model")
    if isinstance(filepath, h5py.File) or h5py.is_hdf5(filepath):
        return hdf5.load_model(filepath, custom_objects, compile)
    raise OSError(
        "Unable to load model. Filepath is not an hdf5 file (or h5py is not available) or SavedModel."
    )
