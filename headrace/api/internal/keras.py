"""tensorflow.python.keras."""

MODULES: dict[str, str] = {
    "python.keras.activations": (
        "keras.activations/ deserialize elu exponential get hard_sigmoid linear relu selu serialize "
        "sigmoid softmax softplus softsign tanh"
    ),
    "python.keras.backend": (
        "*python.keras.backend_config "
        "keras.backend/ abs all any arange argmax argmin backend batch_dot batch_flatten "
        "batch_get_value batch_normalization batch_set_value bias_add binary_crossentropy cast "
        "cast_to_floatx categorical_crossentropy clear_session clip concatenate constant conv1d "
        "conv2d conv2d_transpose conv3d cos count_params ctc_batch_cost ctc_decode "
        "ctc_label_dense_to_sparse cumprod cumsum dot dropout dtype elu equal eval exp expand_dims "
        "eye flatten foldl foldr function gather get_session get_uid get_value gradients greater "
        "greater_equal hard_sigmoid in_test_phase in_top_k in_train_phase int_shape is_sparse "
        "l2_normalize learning_phase learning_phase_scope less less_equal local_conv1d local_conv2d "
        "log manual_variable_initialization map_fn max maximum mean min minimum "
        "moving_average_update name_scope ndim normalize_batch_in_training not_equal one_hot ones "
        "ones_like permute_dimensions placeholder pool2d pool3d pow print_tensor prod "
        "random_binomial random_normal random_normal_variable random_uniform "
        "random_uniform_variable relu repeat repeat_elements reset_uids reshape resize_images "
        "resize_volumes reverse rnn round separable_conv2d set_learning_phase set_session set_value "
        "shape sigmoid sign sin softmax softplus softsign sparse_categorical_crossentropy "
        "spatial_2d_padding spatial_3d_padding sqrt square squeeze stack std stop_gradient sum "
        "switch tanh temporal_padding tile to_dense transpose truncated_normal update update_add "
        "update_sub var variable zeros zeros_like headrace.keras.backend.nn/ conv3d_transpose "
        "depthwise_conv2d headrace.keras.backend.values/ identity headrace.layers.engine.model_graph/ "
        "get_graph"
    ),
    "python.keras.backend_config": (
        "keras.backend/ epsilon floatx image_data_format set_epsilon set_floatx set_image_data_format"
    ),
    "python.keras.callbacks": (
        "keras.callbacks/ BaseLogger CSVLogger Callback EarlyStopping History LambdaCallback "
        "LearningRateScheduler ModelCheckpoint ProgbarLogger ReduceLROnPlateau RemoteMonitor "
        "TerminateOnNaN"
    ),
    "python.keras.constraints": (
        "keras.constraints/ Constraint MaxNorm MinMaxNorm NonNeg RadialConstraint UnitNorm "
        "deserialize get max_norm min_max_norm non_neg radial_constraint serialize unit_norm"
    ),
    "python.keras.datasets.boston_housing": "keras.datasets.boston_housing/ load_data",
    "python.keras.datasets.cifar10": "keras.datasets.cifar10/ load_data",
    "python.keras.datasets.cifar100": "keras.datasets.cifar100/ load_data",
    "python.keras.datasets.fashion_mnist": "keras.datasets.fashion_mnist/ load_data",
    "python.keras.datasets.imdb": "keras.datasets.imdb/ get_word_index load_data",
    "python.keras.datasets.mnist": "keras.datasets.mnist/ load_data",
    "python.keras.datasets.reuters": "keras.datasets.reuters/ get_word_index load_data",
    "python.keras.engine.base_layer": "keras.layers/ Layer",
    "python.keras.engine.input_layer": "keras.layers/ Input InputLayer",
    "python.keras.engine.input_spec": "keras.layers/ InputSpec",
    "python.keras.engine.network": "headrace.keras.engine.network/ Network",
    "python.keras.engine.sequential": "keras/ Sequential",
    "python.keras.engine.training": "keras/ Model",
    "python.keras.initializers": (
        "keras.initializers/ RandomNormal RandomUniform TruncatedNormal deserialize get normal "
        "random_normal random_uniform serialize truncated_normal uniform"
    ),
    "python.keras.layers": "keras.layers/ ELU GRU LSTM RNN",
    "python.keras.layers.advanced_activations": (
        "keras.layers/ ELU LeakyReLU PReLU ReLU Softmax ThresholdedReLU"
    ),
    "python.keras.layers.convolutional": (
        "keras.layers/ Conv1D Conv2D Conv2DTranspose Conv3D Conv3DTranspose Convolution1D "
        "Convolution2D Convolution2DTranspose Convolution3D Convolution3DTranspose Cropping1D "
        "Cropping2D Cropping3D DepthwiseConv2D SeparableConv1D SeparableConv2D "
        "SeparableConvolution1D SeparableConvolution2D UpSampling1D UpSampling2D UpSampling3D "
        "ZeroPadding1D ZeroPadding2D ZeroPadding3D"
    ),
    "python.keras.layers.convolutional_recurrent": "keras.layers/ RNN",
    "python.keras.layers.core": (
        "keras.layers/ Activation ActivityRegularization Dense Dropout Flatten Lambda Masking "
        "Permute RepeatVector Reshape SpatialDropout1D SpatialDropout2D SpatialDropout3D"
    ),
    "python.keras.layers.cudnn_recurrent": "keras.layers/ CuDNNGRU CuDNNLSTM RNN",
    "python.keras.layers.dense_attention": "keras.layers/ AdditiveAttention Attention",
    "python.keras.layers.embeddings": "keras.layers/ Embedding",
    "python.keras.layers.local": "keras.layers/ LocallyConnected1D LocallyConnected2D",
    "python.keras.layers.merge": (
        "keras.layers/ Add Average Concatenate Dot Maximum Minimum Multiply Subtract add average "
        "concatenate dot maximum minimum multiply subtract"
    ),
    "python.keras.layers.noise": "keras.layers/ AlphaDropout GaussianDropout GaussianNoise",
    "python.keras.layers.normalization": "keras.layers/ BatchNormalization LayerNormalization",
    "python.keras.layers.normalization_v2": "keras.layers/ BatchNormalization",
    "python.keras.layers.pooling": (
        "keras.layers/ AveragePooling1D AveragePooling2D AveragePooling3D AvgPool1D AvgPool2D "
        "AvgPool3D GlobalAveragePooling1D GlobalAveragePooling2D GlobalAveragePooling3D "
        "GlobalAvgPool1D GlobalAvgPool2D GlobalAvgPool3D GlobalMaxPool1D GlobalMaxPool2D "
        "GlobalMaxPool3D GlobalMaxPooling1D GlobalMaxPooling2D GlobalMaxPooling3D MaxPool1D "
        "MaxPool2D MaxPool3D MaxPooling1D MaxPooling2D MaxPooling3D"
    ),
    "python.keras.layers.recurrent": (
        "keras.layers/ AbstractRNNCell GRU GRUCell LSTM LSTMCell RNN SimpleRNN SimpleRNNCell "
        "StackedRNNCells keras.experimental/ PeepholeLSTMCell"
    ),
    "python.keras.layers.recurrent_v2": "keras.layers/ GRU GRUCell LSTM LSTMCell",
    "python.keras.layers.serialization": "keras.layers/ ELU GRU LSTM RNN deserialize serialize",
    "python.keras.layers.wrappers": "keras.layers/ Bidirectional TimeDistributed Wrapper",
    "python.keras.losses": (
        "keras.losses/ BinaryCrossentropy CategoricalCrossentropy CategoricalHinge CosineSimilarity "
        "Hinge Huber KLD KLDivergence LogCosh Loss MAE MAPE MSE MSLE MeanAbsoluteError "
        "MeanAbsolutePercentageError MeanSquaredError MeanSquaredLogarithmicError Poisson "
        "SparseCategoricalCrossentropy SquaredHinge binary_crossentropy categorical_crossentropy "
        "categorical_hinge cosine_proximity cosine_similarity deserialize get hinge kld "
        "kullback_leibler_divergence logcosh mae mape mean_absolute_error "
        "mean_absolute_percentage_error mean_squared_error mean_squared_logarithmic_error mse msle "
        "poisson serialize sparse_categorical_crossentropy squared_hinge "
        "headrace.keras.losses.functions/ huber_loss"
    ),
    "python.keras.metrics": (
        "keras.metrics/ AUC Accuracy BinaryAccuracy BinaryCrossentropy CategoricalAccuracy "
        "CategoricalCrossentropy CategoricalHinge CosineSimilarity FalseNegatives FalsePositives "
        "Hinge KLDivergence LogCoshError MAE MAPE MSE MSLE Mean MeanAbsoluteError "
        "MeanAbsolutePercentageError MeanIoU MeanRelativeError MeanSquaredError "
        "MeanSquaredLogarithmicError MeanTensor Metric Poisson Precision Recall "
        "RootMeanSquaredError SensitivityAtSpecificity SparseCategoricalAccuracy "
        "SparseCategoricalCrossentropy SparseTopKCategoricalAccuracy SpecificityAtSensitivity "
        "SquaredHinge Sum TopKCategoricalAccuracy TrueNegatives TruePositives binary_accuracy "
        "categorical_accuracy deserialize get serialize sparse_categorical_accuracy "
        "sparse_top_k_categorical_accuracy top_k_categorical_accuracy "
        "headrace.keras.metrics.functions/ accuracy"
    ),
    "python.keras.models": "keras.models/ clone_model",
    "python.keras.optimizer_v2.adadelta": "keras.optimizers/ Adadelta",
    "python.keras.optimizer_v2.adagrad": "keras.optimizers/ Adagrad",
    "python.keras.optimizer_v2.adam": "keras.optimizers/ Adam",
    "python.keras.optimizer_v2.adamax": "keras.optimizers/ Adamax",
    "python.keras.optimizer_v2.ftrl": "keras.optimizers/ Ftrl",
    "python.keras.optimizer_v2.gradient_descent": "keras.optimizers/ SGD",
    "python.keras.optimizer_v2.learning_rate_schedule": (
        "keras.optimizers.schedules/ ExponentialDecay InverseTimeDecay LearningRateSchedule "
        "PiecewiseConstantDecay PolynomialDecay deserialize serialize keras.experimental/ "
        "CosineDecay CosineDecayRestarts LinearCosineDecay NoisyLinearCosineDecay"
    ),
    "python.keras.optimizer_v2.nadam": "keras.optimizers/ Nadam",
    "python.keras.optimizer_v2.optimizer_v2": "keras.optimizers/ OptimizerV2=Optimizer",
    "python.keras.optimizer_v2.rmsprop": "keras.optimizers/ RMSprop RMSProp=RMSprop",
    "python.keras.optimizers": (
        "keras.optimizers/ Adadelta Adagrad Adam Adamax Nadam Optimizer RMSprop SGD deserialize get serialize"
    ),
    "python.keras.preprocessing.sequence": "keras.preprocessing.sequence/ TimeseriesGenerator",
    "python.keras.regularizers": (
        "keras.regularizers/ L1L2 Regularizer deserialize get l1 l1_l2 l2 serialize"
    ),
    "python.keras.saving.model_config": "keras.models/ model_from_config model_from_json model_from_yaml",
    "python.keras.saving.save": "keras.models/ load_model save_model",
    "python.keras.utils.data_utils": (
        "keras.utils/ GeneratorEnqueuer OrderedEnqueuer Sequence SequenceEnqueuer"
    ),
    "python.keras.utils.generic_utils": (
        "keras.utils/ CustomObjectScope Progbar custom_object_scope deserialize_keras_object "
        "get_custom_objects serialize_keras_object"
    ),
    "python.keras.utils.layer_utils": (
        "keras.utils/ get_source_inputs headrace.keras.utils.summary/ count_params print_summary"
    ),
    "python.keras.utils.np_utils": "keras.utils/ normalize to_categorical",
    "python.keras.utils.tf_utils": (
        "constant_value=get_static_value headrace.layers.engine.reach/ get_reachable_from_inputs "
        "headrace.functions.control.cond/ smart_cond"
    ),
}
