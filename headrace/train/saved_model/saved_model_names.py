"""Names that SavedModels agree on: of files, tags, signatures and collections."""

ASSETS_DIRECTORY, EXTRA_ASSETS_DIRECTORY = "assets", "assets.extra"
VARIABLES_DIRECTORY = VARIABLES_FILENAME = "variables"
SAVED_MODEL_FILENAME_PB, SAVED_MODEL_FILENAME_PBTXT = "saved_model.pb", "saved_model.pbtxt"
SAVED_MODEL_SCHEMA_VERSION = 1
ASSETS_KEY, LEGACY_INIT_OP_KEY = "saved_model_assets", "legacy_init_op"
MAIN_OP_KEY, TRAIN_OP_KEY = "saved_model_main_op", "saved_model_train_op"
INIT_OP_SIGNATURE_KEY, TRAIN_OP_SIGNATURE_KEY = "__saved_model_init_op", "__saved_model_train_op"

SERVING, TRAINING, EVAL, GPU, TPU = "serve", "train", "eval", "gpu", "tpu"

DEFAULT_SERVING_SIGNATURE_DEF_KEY = "serving_default"
DEFAULT_TRAIN_SIGNATURE_DEF_KEY, DEFAULT_EVAL_SIGNATURE_DEF_KEY = "train", "eval"
CLASSIFY_INPUTS, CLASSIFY_METHOD_NAME = "inputs", "tensorflow/serving/classify"
CLASSIFY_OUTPUT_CLASSES, CLASSIFY_OUTPUT_SCORES = "classes", "scores"
PREDICT_INPUTS, PREDICT_OUTPUTS = "inputs", "outputs"
PREDICT_METHOD_NAME = "tensorflow/serving/predict"
REGRESS_INPUTS, REGRESS_OUTPUTS = "inputs", "outputs"
REGRESS_METHOD_NAME = "tensorflow/serving/regress"
SUPERVISED_TRAIN_METHOD_NAME = "tensorflow/supervised/training"
SUPERVISED_EVAL_METHOD_NAME = "tensorflow/supervised/eval"
