"""tensorflow.python.layers."""

MODULES: dict[str, str] = {
    "python.layers.base": ("layers/ InputSpec Layer layers.experimental/ keras_style_scope set_keras_style"),
    "python.layers.convolutional": (
        "layers/ Conv1D conv1d Conv2D conv2d conv2d_transpose Conv2DTranspose Conv3D conv3d "
        "conv3d_transpose Conv3DTranspose Convolution1D=Conv1D convolution1d=conv1d "
        "Convolution2D=Conv2D convolution2d=conv2d convolution2d_transpose=conv2d_transpose "
        "Convolution2DTranspose=Conv2DTranspose Convolution3D=Conv3D convolution3d=conv3d "
        "convolution3d_transpose=conv3d_transpose Convolution3DTranspose=Conv3DTranspose "
        "Deconv2D=Conv2DTranspose deconv2d=conv2d_transpose Deconv3D=Conv3DTranspose "
        "deconv3d=conv3d_transpose Deconvolution2D=Conv2DTranspose "
        "deconvolution2d=conv2d_transpose Deconvolution3D=Conv3DTranspose "
        "deconvolution3d=conv3d_transpose separable_conv1d separable_conv2d "
        "separable_convolution2d=separable_conv2d SeparableConv1D SeparableConv2D "
        "SeparableConvolution2D=SeparableConv2D"
    ),
    "python.layers.core": (
        "layers/ Dense dense Dropout dropout Flatten flatten fully_connected=dense FullyConnected=Dense"
    ),
    "python.layers.layers": (
        "layers/ average_pooling1d average_pooling2d average_pooling3d AveragePooling1D "
        "AveragePooling2D AveragePooling3D batch_normalization BatchNormalization Conv1D conv1d "
        "Conv2D conv2d conv2d_transpose Conv2DTranspose Conv3D conv3d conv3d_transpose "
        "Conv3DTranspose Convolution1D=Conv1D Convolution2D=Conv2D "
        "Convolution2DTranspose=Conv2DTranspose Convolution3D=Conv3D "
        "Convolution3DTranspose=Conv3DTranspose Dense dense Dropout dropout Flatten flatten "
        "InputSpec Layer max_pooling1d max_pooling2d max_pooling3d MaxPooling1D MaxPooling2D "
        "MaxPooling3D separable_conv1d separable_conv2d SeparableConv1D SeparableConv2D "
        "SeparableConvolution2D=SeparableConv2D"
    ),
    "python.layers.normalization": (
        "layers/ batch_norm=batch_normalization batch_normalization BatchNorm=BatchNormalization "
        "BatchNormalization"
    ),
    "python.layers.pooling": (
        "layers/ average_pooling1d average_pooling2d average_pooling3d AveragePooling1D "
        "AveragePooling2D AveragePooling3D avg_pool2d=average_pooling2d "
        "AvgPool2D=AveragePooling2D max_pool2d=max_pooling2d max_pooling1d max_pooling2d "
        "max_pooling3d MaxPool2D=MaxPooling2D MaxPooling1D MaxPooling2D MaxPooling3D"
    ),
    "python.layers.utils": (
        "headrace.functions.control.cond/ constant_value=smart_constant_value smart_cond "
        "headrace.api.inner.layer_arguments/ conv_input_length conv_output_length convert_data_format "
        "deconv_output_length normalize_data_format normalize_padding normalize_tuple"
    ),
}
