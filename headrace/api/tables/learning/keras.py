"""Public names of the family: keras."""

NAMES: dict[str, str] = {
    "headrace.layers.engine.layer": "keras.layers.Layer",
    "headrace.layers.engine.input_spec": "keras.layers.InputSpec",
}
