"""Public names of tf.contrib.eager."""

_EAGER = "contrib.eager."


def _eager(names: str) -> str:
    return " ".join(_EAGER + name for name in names.split())


NAMES: dict[str, str] = {
    "headrace.eager.derivatives": _eager(
        "gradients_function value_and_gradients_function implicit_gradients implicit_value_and_gradients"
    ),
    "headrace.eager.context": _eager(
        "enable_eager_execution enable_remote_eager_execution=enable_eager_execution run list_devices "
        "num_gpus "
        "execution_mode set_execution_mode async_wait async_clear_error "
        "DEVICE_PLACEMENT_EXPLICIT DEVICE_PLACEMENT_WARN DEVICE_PLACEMENT_SILENT SYNC ASYNC"
    ),
    "headrace.data.eager_iterator": _eager("Iterator"),
    "headrace.functions.platform.modes": _eager("executing_eagerly in_eager_mode=executing_eagerly"),
    "headrace.autodiff.tape": _eager("GradientTape"),
    "headrace.eager.py_function": _eager("py_func=py_function"),
    "headrace.functions.values.tensor_spec": _eager("TensorSpec"),
    "headrace.variables.functions.graph_function": _eager("function defun=function"),
    "headrace.variables.functions.template": _eager("make_template"),
    "headrace.variables.functions.custom_gradient": _eager("custom_gradient"),
    "headrace.variables.eager_store": _eager("EagerVariableStore"),
    "headrace.variables.resource": _eager("Variable=ResourceVariable"),
    "headrace.train.checkpoints.object_graph": (
        _eager("Checkpointable=AutoTrackable") + " contrib.checkpoint.Checkpointable=AutoTrackable"
    ),
    "headrace.train.checkpoints.object_checkpoint": _eager("Checkpoint"),
}
