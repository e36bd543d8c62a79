"""Layer as Keras' users find it: with the metrics that `add_metric` makes."""

from __future__ import annotations

from headrace.keras.metrics import averages
from headrace.layers.engine import layer

Layer = layer.Layer
Mean = averages.Mean  # fills the hook
