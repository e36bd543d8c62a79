"""Public names of the family: metrics."""

NAMES: dict[str, str] = {
    "headrace.layers.metrics.means": (
        "metrics.mean metrics.mean_tensor metrics.accuracy metrics.mean_absolute_error "
        "metrics.mean_squared_error metrics.root_mean_squared_error metrics.mean_relative_error "
        "metrics.mean_cosine_distance metrics.percentage_below"
    ),
    "headrace.layers.metrics.counts": (
        "metrics.true_positives metrics.true_negatives metrics.false_positives "
        "metrics.false_negatives metrics.precision metrics.recall"
    ),
    "headrace.layers.metrics.thresholds": (
        "metrics.true_positives_at_thresholds metrics.true_negatives_at_thresholds "
        "metrics.false_positives_at_thresholds metrics.false_negatives_at_thresholds "
        "metrics.precision_at_thresholds metrics.recall_at_thresholds"
    ),
    "headrace.layers.metrics.auc": (
        "metrics.auc metrics.sensitivity_at_specificity metrics.specificity_at_sensitivity"
    ),
    "headrace.layers.metrics.per_class": "metrics.mean_iou metrics.mean_per_class_accuracy",
    "headrace.layers.metrics.at_k": (
        "metrics.precision_at_k metrics.precision_at_top_k metrics.recall_at_k "
        "metrics.recall_at_top_k metrics.sparse_precision_at_k"
    ),
    "headrace.layers.metrics.average_precision": (
        "metrics.average_precision_at_k metrics.sparse_average_precision_at_k"
    ),
}
