"""Public names of the family: contrib."""

NAMES: dict[str, str] = {
    "headrace.variables.orthogonal": (
        "contrib.framework.convolutional_delta_orthogonal=ConvolutionDeltaOrthogonal "
        "contrib.framework.convolutional_orthogonal_1d=ConvolutionOrthogonal1D "
        "contrib.framework.convolutional_orthogonal_2d=ConvolutionOrthogonal2D "
        "contrib.framework.convolutional_orthogonal_3d=ConvolutionOrthogonal3D"
    ),
}
