"""Public names of the family: saved_model."""

_SIGNATURES = (
    "CLASSIFY_INPUTS CLASSIFY_METHOD_NAME CLASSIFY_OUTPUT_CLASSES CLASSIFY_OUTPUT_SCORES "
    "DEFAULT_SERVING_SIGNATURE_DEF_KEY PREDICT_INPUTS PREDICT_METHOD_NAME PREDICT_OUTPUTS "
    "REGRESS_INPUTS REGRESS_METHOD_NAME REGRESS_OUTPUTS"
)
_TAGS = "GPU SERVING TPU TRAINING"
_FILES = (
    "ASSETS_DIRECTORY ASSETS_KEY LEGACY_INIT_OP_KEY MAIN_OP_KEY SAVED_MODEL_FILENAME_PB "
    "SAVED_MODEL_FILENAME_PBTXT SAVED_MODEL_SCHEMA_VERSION VARIABLES_DIRECTORY VARIABLES_FILENAME"
)


def _in(space: str, names: str) -> str:
    """The names in tf.saved_model and in one of its older places."""
    return " ".join(f"{{saved_model.,saved_model.{space}.}}{name}" for name in names.split())


NAMES: dict[str, str] = {
    "headrace.train.saved_model.saved_model_names": " ".join(
        [_in("signature_constants", _SIGNATURES), _in("tag_constants", _TAGS), _in("constants", _FILES)]
    ),
    "headrace.train.saved_model.builder": (
        "saved_model.Builder=SavedModelBuilder saved_model.builder.SavedModelBuilder"
    ),
    "headrace.train.saved_model.loader": (
        "saved_model.load saved_model.loader.load saved_model.contains_saved_model "
        "saved_model.maybe_saved_model_directory=contains_saved_model "
        "saved_model.loader.maybe_saved_model_directory=contains_saved_model"
    ),
    "headrace.train.saved_model.save": "saved_model.save",
    "headrace.train.saved_model.restored": "saved_model.load_v2=load",
    "headrace.train.saved_model.simple_save": (
        "saved_model.simple_save saved_model.main_op.main_op "
        "saved_model.main_op_with_restore saved_model.main_op.main_op_with_restore"
    ),
    "headrace.train.saved_model.signatures": " ".join(
        [
            _in(
                "signature_def_utils",
                "build_signature_def classification_signature_def is_valid_signature "
                "predict_signature_def regression_signature_def",
            ),
            _in("utils", "build_tensor_info get_tensor_from_tensor_info"),
        ]
    ),
}
