"""Public names of the family: layers."""

NAMES: dict[str, str] = {
    "headrace.layers.base": (
        "layers.Layer layers.experimental.keras_style_scope layers.experimental.set_keras_style"
    ),
    "headrace.layers.input_spec": "layers.InputSpec",
}
