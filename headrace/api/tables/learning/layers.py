"""Public names of the family: layers."""

NAMES: dict[str, str] = {
    "headrace.layers.engine.base": (
        "layers.Layer layers.experimental.keras_style_scope layers.experimental.set_keras_style"
    ),
    "headrace.layers.engine.input_spec": "layers.InputSpec",
    "headrace.layers.core": (
        "layers.Dense layers.Dropout layers.Flatten layers.dense layers.dropout layers.flatten"
    ),
    "headrace.layers.convolutional": (
        "layers.Conv1D layers.Conv2D layers.Conv3D layers.SeparableConv1D layers.SeparableConv2D "
        "layers.Conv2DTranspose layers.Conv3DTranspose layers.conv1d layers.conv2d layers.conv3d "
        "layers.separable_conv1d layers.separable_conv2d layers.conv2d_transpose "
        "layers.conv3d_transpose"
    ),
    "headrace.layers.pooling": (
        "layers.AveragePooling1D layers.AveragePooling2D layers.AveragePooling3D "
        "layers.MaxPooling1D layers.MaxPooling2D layers.MaxPooling3D layers.average_pooling1d "
        "layers.average_pooling2d layers.average_pooling3d layers.max_pooling1d "
        "layers.max_pooling2d layers.max_pooling3d"
    ),
    "headrace.layers.normalization": "layers.BatchNormalization layers.batch_normalization",
}
