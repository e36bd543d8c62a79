"""Recurrent layers with a cell of their own: SimpleRNN, GRU, LSTM, and those that cuDNN's weights fit."""

from __future__ import annotations

from typing import Any

from headrace.keras.layers.cells import GRUCell, LSTMCell, SimpleRNNCell
from headrace.keras.layers.rnn import RNN
from headrace.layers.engine.input_spec import InputSpec
from headrace.layers.functions import regularizers

_RUN = ("return_sequences", "return_state", "go_backwards", "stateful", "unroll", "time_major")
_OF_LAYER = (
    "name", "trainable", "dtype", "dynamic", "input_shape", "batch_input_shape", "batch_size", "weights",
    "input_dim", "input_length", "zero_output_for_mask", "autocast",
)  # fmt: skip


class _OfCell(RNN):
    """A recurrent layer of one kind of cell.

    Args:
      units: size of the state.
      *args, **kwargs: as of the cell and of RNN; `activity_regularizer`, from the output to a loss.
    """

    _cell_type: Any

    def __init__(self, units: int, *args: Any, **kwargs: Any) -> None:
        if self._ignores_implementation:
            kwargs.pop("implementation", None)
        regularizer = regularizers.get(kwargs.pop("activity_regularizer", None))
        own = {key: kwargs.pop(key) for key in (*_RUN, *_OF_LAYER) if key in kwargs}
        cell = self._cell_type(
            units, *args, **kwargs, dtype=own.get("dtype"), trainable=own.get("trainable", True)
        )
        super().__init__(cell, activity_regularizer=regularizer, **own)
        self.activity_regularizer = regularizer
        self.input_spec = [InputSpec(ndim=3)]

    _ignores_implementation = False

    units: int = property(lambda self: self.cell.units)  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Any:
        """Arguments of the cell are the layer's, too."""
        cell = vars(self).get("cell")
        if cell is not None and not name.startswith("_") and name in vars(cell):
            return vars(cell)[name]
        return super().__getattr__(name)

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        cell = config.pop("cell")["config"]
        cell.pop("name", None)
        cell.pop("trainable", None)
        cell.pop("dtype", None)
        regularizer = regularizers.serialize(self.activity_regularizer)
        found: dict[str, Any] = config | cell | {"activity_regularizer": regularizer}
        return found

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        config = dict(config)
        if config.get("implementation") == 0:
            config["implementation"] = 1
        count = config.pop("num_constants", 0)
        layer = cls(**config)
        layer._num_constants = count
        return layer


class SimpleRNN(_OfCell):
    """A layer of SimpleRNNCell."""

    _cell_type = SimpleRNNCell
    _ignores_implementation = True


class GRU(_OfCell):
    """A layer of GRUCell."""

    _cell_type = GRUCell


class LSTM(_OfCell):
    """A layer of LSTMCell."""

    _cell_type = LSTMCell


class CuDNNGRU(GRU):
    """GRU as cuDNN computes it: sigmoid gates, the state reset behind the product.

    Args:
      units: size of the state.
      *args, **kwargs: as of GRU.
    """

    def __init__(self, units: int, *args: Any, **kwargs: Any) -> None:
        super().__init__(units, "tanh", "sigmoid", True, *args, reset_after=True, **kwargs)

    def get_config(self) -> dict[str, Any]:
        return _without(super().get_config(), "reset_after")


class CuDNNLSTM(LSTM):
    """LSTM as cuDNN computes it: sigmoid gates.

    Args:
      units: size of the state.
      *args, **kwargs: as of LSTM.
    """

    def __init__(self, units: int, *args: Any, **kwargs: Any) -> None:
        super().__init__(units, "tanh", "sigmoid", True, *args, **kwargs)

    def get_config(self) -> dict[str, Any]:
        return _without(super().get_config())


def _without(config: dict[str, Any], *more: str) -> dict[str, Any]:
    fixed = (
        "activation",
        "recurrent_activation",
        "use_bias",
        "dropout",
        "recurrent_dropout",
        "implementation",
    )
    return {key: value for key, value in config.items() if key not in (*fixed, *more)}
