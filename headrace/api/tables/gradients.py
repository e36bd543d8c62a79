"""Public names of the family: gradients."""

NAMES: dict[str, str] = {
    "headrace.autodiff.gradients": "gradients UnconnectedGradients",
    "headrace.autodiff.hessians": "hessians",
    "headrace.autodiff.tape": "GradientTape",
    "headrace.autodiff.accumulate": "AggregationMethod",
    "headrace.autodiff.registry": (
        "RegisterGradient NotDifferentiable=no_gradient NoGradient=no_gradient no_gradient"
    ),
}
