"""What holds for all of Keras: the type of numbers, a small number, where channels stand."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class _Config:
    floatx: str = "float32"
    epsilon: float = 1e-7
    image_data_format: str = "channels_last"


_config = _Config()


def epsilon() -> float:
    """The small number that keeps divisions and logarithms apart from 0."""
    return _config.epsilon


def set_epsilon(value: float) -> None:
    """Choose the small number."""
    _config.epsilon = value


def floatx() -> str:
    """The default type of numbers."""
    return _config.floatx


def set_floatx(value: str) -> None:
    """Choose the default type: float16, float32 or float64."""
    if value not in ("float16", "float32", "float64"):
        raise ValueError(f"Unknown floatx type: {value}")
    _config.floatx = str(value)


def image_data_format() -> str:
    """Where the channels of images stand by default."""
    return _config.image_data_format


def set_image_data_format(data_format: str) -> None:
    """Choose where channels stand: channels_last or channels_first."""
    if data_format not in ("channels_last", "channels_first"):
        raise ValueError(f"Unknown data_format: {data_format}")
    _config.image_data_format = str(data_format)


def backend() -> str:
    """What Keras runs on."""
    return "tensorflow"
