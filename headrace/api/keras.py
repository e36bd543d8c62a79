"""Public names of the family: keras."""

NAMES: dict[str, str] = {
    "headrace.layers.layer": "keras.layers.Layer",
    "headrace.layers.input_spec": "keras.layers.InputSpec",
}
