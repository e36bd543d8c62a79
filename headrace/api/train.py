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
    "headrace.train.optimizers.momentum": "train.MomentumOptimizer train.RMSPropOptimizer",
    "headrace.train.optimizers.adam": "train.AdamOptimizer train.AdadeltaOptimizer",
    "headrace.train.optimizers.adagrad": (
        "train.AdagradOptimizer train.AdagradDAOptimizer train.ProximalAdagradOptimizer"
    ),
    "headrace.train.optimizers.ftrl": "train.FtrlOptimizer",
}
