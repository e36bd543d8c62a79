"""Public names of the family: keras."""

NAMES: dict[str, str] = {
    "headrace.keras.engine.base": "keras.layers.Layer",
    "headrace.layers.engine.input_spec": "keras.layers.InputSpec",
    "headrace.keras.engine.input_layer": "{keras.,keras.layers.}Input keras.layers.InputLayer",
    "headrace.keras.engine.model": "{keras.,keras.models.}Model",
    "headrace.keras.engine.sequential": "{keras.,keras.models.}Sequential",
    "headrace.layers.keras.core": "keras.layers.Dense keras.layers.Dropout keras.layers.Flatten",
    "headrace.layers.keras.convolutional": (
        "keras.layers.Conv1D keras.layers.Conv2D keras.layers.Conv3D "
        "keras.layers.Convolution1D=Conv1D keras.layers.Convolution2D=Conv2D "
        "keras.layers.Convolution3D=Conv3D"
    ),
    "headrace.layers.keras.convolution_transpose": (
        "keras.layers.Conv2DTranspose keras.layers.Conv3DTranspose "
        "keras.layers.Convolution2DTranspose=Conv2DTranspose "
        "keras.layers.Convolution3DTranspose=Conv3DTranspose"
    ),
    "headrace.layers.keras.separable": (
        "keras.layers.SeparableConv1D keras.layers.SeparableConv2D "
        "keras.layers.SeparableConvolution1D=SeparableConv1D "
        "keras.layers.SeparableConvolution2D=SeparableConv2D"
    ),
    "headrace.layers.keras.pooling": (
        "keras.layers.AveragePooling1D keras.layers.AveragePooling2D keras.layers.AveragePooling3D "
        "keras.layers.AvgPool1D=AveragePooling1D keras.layers.AvgPool2D=AveragePooling2D "
        "keras.layers.AvgPool3D=AveragePooling3D keras.layers.MaxPool1D=MaxPooling1D "
        "keras.layers.MaxPool2D=MaxPooling2D keras.layers.MaxPool3D=MaxPooling3D "
        "keras.layers.MaxPooling1D keras.layers.MaxPooling2D keras.layers.MaxPooling3D"
    ),
    "headrace.layers.keras.normalization": "keras.layers.BatchNormalization",
    "headrace.keras.layers.serialization": "keras.layers.deserialize keras.layers.serialize",
    "headrace.keras.losses.functions": (
        "{keras.losses.,keras.metrics.}KLD {keras.losses.,keras.metrics.}MAE "
        "{keras.losses.,keras.metrics.}MAPE {keras.losses.,keras.metrics.}MSE "
        "{keras.losses.,keras.metrics.}MSLE {keras.losses.,keras.metrics.}binary_crossentropy "
        "{keras.losses.,keras.metrics.}categorical_crossentropy keras.losses.categorical_hinge "
        "{keras.losses.,keras.metrics.}cosine=cosine_similarity "
        "{keras.losses.,keras.metrics.}cosine_proximity keras.losses.cosine_similarity "
        "{keras.losses.,keras.metrics.}hinge {keras.losses.,keras.metrics.}kld "
        "{keras.losses.,keras.metrics.}kullback_leibler_divergence keras.losses.logcosh "
        "{keras.losses.,keras.metrics.}mae {keras.losses.,keras.metrics.}mape "
        "{keras.losses.,keras.metrics.}mean_absolute_error "
        "{keras.losses.,keras.metrics.}mean_absolute_percentage_error "
        "{keras.losses.,keras.metrics.}mean_squared_error "
        "{keras.losses.,keras.metrics.}mean_squared_logarithmic_error "
        "{keras.losses.,keras.metrics.}mse {keras.losses.,keras.metrics.}msle "
        "{keras.losses.,keras.metrics.}poisson "
        "{keras.losses.,keras.metrics.}sparse_categorical_crossentropy "
        "{keras.losses.,keras.metrics.}squared_hinge"
    ),
    "headrace.keras.losses.classes": (
        "keras.losses.BinaryCrossentropy keras.losses.CategoricalCrossentropy "
        "keras.losses.CategoricalHinge keras.losses.CosineSimilarity keras.losses.Hinge "
        "keras.losses.Huber keras.losses.KLDivergence keras.losses.LogCosh keras.losses.Loss "
        "keras.losses.MeanAbsoluteError keras.losses.MeanAbsolutePercentageError "
        "keras.losses.MeanSquaredError keras.losses.MeanSquaredLogarithmicError keras.losses.Poisson "
        "keras.losses.SparseCategoricalCrossentropy keras.losses.SquaredHinge "
        "keras.losses.deserialize keras.losses.get keras.losses.serialize"
    ),
    "headrace.keras.metrics.base": "keras.metrics.Metric",
    "headrace.keras.metrics.functions": (
        "keras.metrics.binary_accuracy keras.metrics.categorical_accuracy "
        "keras.metrics.sparse_categorical_accuracy keras.metrics.sparse_top_k_categorical_accuracy "
        "keras.metrics.top_k_categorical_accuracy"
    ),
    "headrace.keras.metrics.averages": (
        "keras.metrics.Mean keras.metrics.MeanIoU keras.metrics.MeanRelativeError "
        "keras.metrics.MeanTensor keras.metrics.RootMeanSquaredError keras.metrics.Sum"
    ),
    "headrace.keras.metrics.means": (
        "keras.metrics.Accuracy keras.metrics.BinaryAccuracy keras.metrics.BinaryCrossentropy "
        "keras.metrics.CategoricalAccuracy keras.metrics.CategoricalCrossentropy "
        "keras.metrics.CategoricalHinge keras.metrics.CosineSimilarity keras.metrics.Hinge "
        "keras.metrics.KLDivergence keras.metrics.LogCoshError keras.metrics.MeanAbsoluteError "
        "keras.metrics.MeanAbsolutePercentageError keras.metrics.MeanSquaredError "
        "keras.metrics.MeanSquaredLogarithmicError keras.metrics.Poisson "
        "keras.metrics.SparseCategoricalAccuracy keras.metrics.SparseCategoricalCrossentropy "
        "keras.metrics.SparseTopKCategoricalAccuracy keras.metrics.SquaredHinge "
        "keras.metrics.TopKCategoricalAccuracy"
    ),
    "headrace.keras.metrics.confusion": (
        "keras.metrics.FalseNegatives keras.metrics.FalsePositives keras.metrics.Precision "
        "keras.metrics.Recall keras.metrics.TrueNegatives keras.metrics.TruePositives"
    ),
    "headrace.keras.metrics.curves": (
        "keras.metrics.AUC keras.metrics.SensitivityAtSpecificity keras.metrics.SpecificityAtSensitivity"
    ),
    "headrace.keras.metrics.named": "keras.metrics.deserialize keras.metrics.get keras.metrics.serialize",
    "headrace.keras.optimizers.base": "keras.optimizers.Optimizer",
    "headrace.keras.optimizers.descent": (
        "keras.optimizers.Adadelta keras.optimizers.Adagrad keras.optimizers.Ftrl "
        "keras.optimizers.RMSprop keras.optimizers.SGD"
    ),
    "headrace.keras.optimizers.adaptive": (
        "keras.optimizers.Adam keras.optimizers.Adamax keras.optimizers.Nadam"
    ),
    "headrace.keras.optimizers.named": (
        "keras.optimizers.deserialize keras.optimizers.get keras.optimizers.serialize"
    ),
    "headrace.keras.optimizers.rates": (
        "keras.optimizers.schedules.deserialize keras.optimizers.schedules.serialize"
    ),
    "headrace.train.schedules.schedules": (
        "keras.experimental.CosineDecay keras.experimental.CosineDecayRestarts "
        "keras.optimizers.schedules.ExponentialDecay keras.optimizers.schedules.InverseTimeDecay "
        "keras.optimizers.schedules.LearningRateSchedule keras.experimental.LinearCosineDecay "
        "keras.experimental.NoisyLinearCosineDecay keras.optimizers.schedules.PiecewiseConstantDecay "
        "keras.optimizers.schedules.PolynomialDecay"
    ),
    "headrace.keras.callbacks.callback": "keras.callbacks.Callback",
    "headrace.keras.callbacks.records": (
        "keras.callbacks.BaseLogger keras.callbacks.CSVLogger keras.callbacks.History "
        "keras.callbacks.LambdaCallback keras.callbacks.ProgbarLogger keras.callbacks.RemoteMonitor"
    ),
    "headrace.keras.callbacks.control": (
        "keras.callbacks.EarlyStopping keras.callbacks.LearningRateScheduler "
        "keras.callbacks.ModelCheckpoint keras.callbacks.ReduceLROnPlateau "
        "keras.callbacks.TerminateOnNaN"
    ),
    "headrace.keras.utils.progress": "keras.utils.Progbar",
    "headrace.keras.utils.data": (
        "keras.utils.GeneratorEnqueuer keras.utils.OrderedEnqueuer keras.utils.Sequence "
        "keras.utils.SequenceEnqueuer"
    ),
    "headrace.layers.engine.config": (
        "keras.backend.backend keras.backend.epsilon keras.backend.floatx "
        "keras.backend.image_data_format keras.backend.set_epsilon keras.backend.set_floatx "
        "keras.backend.set_image_data_format"
    ),
    "headrace.keras.backend.run": (
        "keras.backend.batch_get_value keras.backend.batch_set_value keras.backend.clear_session "
        "keras.backend.eval keras.backend.function keras.backend.get_session keras.backend.get_value "
        "keras.backend.manual_variable_initialization keras.backend.set_session "
        "keras.backend.set_value keras.backend.to_dense"
    ),
    "headrace.keras.backend.crossentropy": (
        "keras.backend.binary_crossentropy keras.backend.categorical_crossentropy "
        "keras.backend.sparse_categorical_crossentropy"
    ),
    "headrace.layers.engine.learning_phase": (
        "keras.backend.learning_phase keras.backend.set_learning_phase"
    ),
    "headrace.layers.engine.registry": (
        "keras.utils.CustomObjectScope keras.utils.custom_object_scope "
        "keras.utils.deserialize_keras_object keras.utils.get_custom_objects "
        "keras.utils.serialize_keras_object"
    ),
    "headrace.keras.backend.values": (
        "keras.backend.constant keras.backend.count_params keras.backend.dtype keras.backend.eye "
        "keras.backend.get_uid keras.backend.gradients keras.backend.int_shape "
        "keras.backend.is_sparse keras.backend.learning_phase_scope "
        "keras.backend.moving_average_update keras.backend.name_scope keras.backend.ndim "
        "keras.backend.ones keras.backend.ones_like keras.backend.placeholder "
        "keras.backend.random_binomial keras.backend.random_normal "
        "keras.backend.random_normal_variable keras.backend.random_uniform "
        "keras.backend.random_uniform_variable keras.backend.reset_uids keras.backend.shape "
        "keras.backend.stop_gradient keras.backend.truncated_normal keras.backend.update "
        "keras.backend.update_add keras.backend.update_sub keras.backend.variable keras.backend.zeros "
        "keras.backend.zeros_like"
    ),
    "headrace.keras.backend.elements": (
        "keras.backend.abs keras.backend.all keras.backend.any keras.backend.argmax "
        "keras.backend.argmin keras.backend.cast keras.backend.cast_to_floatx keras.backend.clip "
        "keras.backend.cos keras.backend.cumprod keras.backend.cumsum keras.backend.elu "
        "keras.backend.equal keras.backend.exp keras.backend.greater keras.backend.greater_equal "
        "keras.backend.hard_sigmoid keras.backend.l2_normalize keras.backend.less "
        "keras.backend.less_equal keras.backend.log keras.backend.max keras.backend.maximum "
        "keras.backend.mean keras.backend.min keras.backend.minimum keras.backend.not_equal "
        "keras.backend.pow keras.backend.prod keras.backend.relu keras.backend.round "
        "keras.backend.sigmoid keras.backend.sign keras.backend.sin keras.backend.softmax "
        "keras.backend.softplus keras.backend.softsign keras.backend.sqrt keras.backend.square "
        "keras.backend.std keras.backend.sum keras.backend.tanh keras.backend.var"
    ),
    "headrace.keras.backend.arrays": (
        "keras.backend.arange keras.backend.batch_flatten keras.backend.concatenate "
        "keras.backend.expand_dims keras.backend.flatten keras.backend.gather keras.backend.in_top_k "
        "keras.backend.one_hot keras.backend.permute_dimensions keras.backend.repeat "
        "keras.backend.repeat_elements keras.backend.reshape keras.backend.resize_images "
        "keras.backend.resize_volumes keras.backend.reverse keras.backend.spatial_2d_padding "
        "keras.backend.spatial_3d_padding keras.backend.squeeze keras.backend.stack "
        "keras.backend.temporal_padding keras.backend.tile keras.backend.transpose"
    ),
    "headrace.keras.backend.control": (
        "keras.backend.foldl keras.backend.foldr keras.backend.in_test_phase "
        "keras.backend.in_train_phase keras.backend.map_fn keras.backend.print_tensor "
        "keras.backend.switch"
    ),
    "headrace.keras.backend.nn": (
        "keras.backend.batch_normalization keras.backend.bias_add keras.backend.conv1d "
        "keras.backend.conv2d keras.backend.conv2d_transpose keras.backend.conv3d "
        "keras.backend.ctc_batch_cost keras.backend.ctc_decode "
        "keras.backend.ctc_label_dense_to_sparse keras.backend.dropout "
        "keras.backend.normalize_batch_in_training keras.backend.pool2d keras.backend.pool3d "
        "keras.backend.separable_conv2d"
    ),
    "headrace.keras.backend.products": "keras.backend.batch_dot keras.backend.dot",
    "headrace.keras.backend.local": "keras.backend.local_conv1d keras.backend.local_conv2d",
    "headrace.keras.backend.recurrence": "keras.backend.rnn",
    "headrace.layers.functions.activations": (
        "keras.activations.deserialize keras.activations.elu keras.activations.exponential "
        "keras.activations.get keras.activations.hard_sigmoid keras.activations.linear "
        "keras.activations.relu keras.activations.selu keras.activations.serialize "
        "keras.activations.sigmoid keras.activations.softmax keras.activations.softplus "
        "keras.activations.softsign keras.activations.tanh"
    ),
    "headrace.layers.functions.initializers": (
        "keras.initializers.Constant keras.initializers.Identity keras.initializers.Initializer "
        "keras.initializers.Ones keras.initializers.Orthogonal keras.initializers.RandomNormal "
        "keras.initializers.RandomUniform keras.initializers.TruncatedNormal "
        "keras.initializers.VarianceScaling keras.initializers.Zeros keras.initializers.constant "
        "keras.initializers.deserialize keras.initializers.get keras.initializers.glorot_normal "
        "keras.initializers.glorot_uniform keras.initializers.he_normal keras.initializers.he_uniform "
        "keras.initializers.identity keras.initializers.lecun_normal keras.initializers.lecun_uniform "
        "keras.initializers.normal keras.initializers.ones keras.initializers.orthogonal "
        "keras.initializers.random_normal keras.initializers.random_uniform "
        "keras.initializers.serialize keras.initializers.truncated_normal keras.initializers.uniform "
        "keras.initializers.zeros"
    ),
    "headrace.layers.functions.regularizers": (
        "keras.regularizers.L1L2 keras.regularizers.Regularizer keras.regularizers.deserialize "
        "keras.regularizers.get keras.regularizers.l1 keras.regularizers.l1_l2 keras.regularizers.l2 "
        "keras.regularizers.serialize"
    ),
    "headrace.layers.functions.constraints": (
        "keras.constraints.Constraint keras.constraints.MaxNorm keras.constraints.MinMaxNorm "
        "keras.constraints.NonNeg keras.constraints.RadialConstraint keras.constraints.UnitNorm "
        "keras.constraints.deserialize keras.constraints.get keras.constraints.max_norm "
        "keras.constraints.min_max_norm keras.constraints.non_neg keras.constraints.radial_constraint "
        "keras.constraints.serialize keras.constraints.unit_norm"
    ),
    "headrace.keras.layers.shaping": (
        "keras.layers.Activation keras.layers.ActivityRegularization keras.layers.Lambda "
        "keras.layers.Masking keras.layers.Permute keras.layers.RepeatVector keras.layers.Reshape"
    ),
    "headrace.keras.layers.advanced_activations": (
        "keras.layers.ELU keras.layers.LeakyReLU keras.layers.PReLU keras.layers.ReLU "
        "keras.layers.Softmax keras.layers.ThresholdedReLU"
    ),
    "headrace.keras.layers.noise": (
        "keras.layers.AlphaDropout keras.layers.GaussianDropout keras.layers.GaussianNoise "
        "keras.layers.SpatialDropout1D keras.layers.SpatialDropout2D keras.layers.SpatialDropout3D"
    ),
    "headrace.keras.layers.merge": (
        "keras.layers.Add keras.layers.Average keras.layers.Concatenate keras.layers.Dot "
        "keras.layers.Maximum keras.layers.Minimum keras.layers.Multiply keras.layers.Subtract "
        "keras.layers.add keras.layers.average keras.layers.concatenate keras.layers.dot "
        "keras.layers.maximum keras.layers.minimum keras.layers.multiply keras.layers.subtract"
    ),
    "headrace.keras.layers.windows": (
        "keras.layers.Cropping1D keras.layers.Cropping2D keras.layers.Cropping3D "
        "keras.layers.UpSampling1D keras.layers.UpSampling2D keras.layers.UpSampling3D "
        "keras.layers.ZeroPadding1D keras.layers.ZeroPadding2D keras.layers.ZeroPadding3D"
    ),
    "headrace.keras.layers.global_pooling": (
        "keras.layers.GlobalAveragePooling1D keras.layers.GlobalAveragePooling2D "
        "keras.layers.GlobalAveragePooling3D keras.layers.GlobalAvgPool1D=GlobalAveragePooling1D "
        "keras.layers.GlobalAvgPool2D=GlobalAveragePooling2D "
        "keras.layers.GlobalAvgPool3D=GlobalAveragePooling3D "
        "keras.layers.GlobalMaxPool1D=GlobalMaxPooling1D "
        "keras.layers.GlobalMaxPool2D=GlobalMaxPooling2D "
        "keras.layers.GlobalMaxPool3D=GlobalMaxPooling3D keras.layers.GlobalMaxPooling1D "
        "keras.layers.GlobalMaxPooling2D keras.layers.GlobalMaxPooling3D"
    ),
    "headrace.keras.layers.local": "keras.layers.LocallyConnected1D keras.layers.LocallyConnected2D",
    "headrace.keras.layers.attention": "keras.layers.AdditiveAttention keras.layers.Attention",
    "headrace.keras.layers.embeddings": "keras.layers.Embedding",
    "headrace.keras.layers.rnn": "keras.layers.RNN",
    "headrace.keras.layers.stacked_cells": "keras.layers.AbstractRNNCell keras.layers.StackedRNNCells",
    "headrace.keras.layers.cells": (
        "keras.layers.GRUCell keras.layers.LSTMCell keras.experimental.PeepholeLSTMCell "
        "keras.layers.SimpleRNNCell"
    ),
    "headrace.keras.layers.recurrent": (
        "keras.layers.CuDNNGRU keras.layers.CuDNNLSTM keras.layers.GRU keras.layers.LSTM "
        "keras.layers.SimpleRNN"
    ),
    "headrace.keras.layers.wrappers": (
        "keras.layers.Bidirectional keras.layers.TimeDistributed keras.layers.Wrapper"
    ),
    "headrace.keras.saving.architecture": (
        "keras.models.model_from_config keras.models.model_from_json keras.models.model_from_yaml"
    ),
    "headrace.keras.saving.model_files": "keras.models.load_model keras.models.save_model",
    "headrace.keras.layers.depthwise": "keras.layers.DepthwiseConv2D",
    "headrace.keras.layers.layer_normalization": "keras.layers.LayerNormalization",
    "headrace.keras.utils.labels": "keras.utils.normalize keras.utils.to_categorical",
    "headrace.keras.engine.cloning": "keras.models.clone_model keras.utils.get_source_inputs",
    "headrace.keras.preprocessing.sequences": (
        "keras.preprocessing.sequence.TimeseriesGenerator "
        "keras.preprocessing.sequence.make_sampling_table keras.preprocessing.sequence.pad_sequences "
        "keras.preprocessing.sequence.skipgrams"
    ),
    "headrace.keras.preprocessing.texts": (
        "keras.preprocessing.text.Tokenizer keras.preprocessing.text.hashing_trick "
        "keras.preprocessing.text.one_hot keras.preprocessing.text.text_to_word_sequence"
    ),
    "headrace.keras.datasets.local": (
        "keras.datasets.imdb.get_word_index=imdb_words "
        "keras.datasets.reuters.get_word_index=reuters_words "
        "keras.datasets.boston_housing.load_data=boston_housing "
        "keras.datasets.cifar10.load_data=cifar10 keras.datasets.cifar100.load_data=cifar100 "
        "keras.datasets.fashion_mnist.load_data=fashion_mnist keras.datasets.imdb.load_data=imdb "
        "keras.datasets.mnist.load_data=mnist keras.datasets.reuters.load_data=reuters"
    ),
}
