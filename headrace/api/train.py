"""Public names of the family: training."""

NAMES: dict[str, str] = {
    "headrace.train.global_step": (
        "train.global_step train.get_global_step train.create_global_step "
        "train.get_or_create_global_step train.assert_global_step"
    ),
    "headrace.train.optimizers.base": "train.Optimizer",
    "headrace.train.optimizers.gradient_descent": (
        "train.GradientDescentOptimizer train.ProximalGradientDescentOptimizer"
    ),
}
