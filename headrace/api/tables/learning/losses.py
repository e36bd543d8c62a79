"""Public names of the family: losses."""

NAMES: dict[str, str] = {
    "headrace.layers.losses.loss_reduction": (
        "losses.Reduction losses.compute_weighted_loss losses.add_loss losses.get_losses "
        "losses.get_regularization_losses losses.get_regularization_loss losses.get_total_loss"
    ),
    "headrace.layers.losses.losses": (
        "losses.absolute_difference losses.cosine_distance losses.hinge_loss losses.huber_loss "
        "losses.log_loss losses.mean_pairwise_squared_error losses.mean_squared_error "
        "losses.sigmoid_cross_entropy losses.softmax_cross_entropy "
        "losses.sparse_softmax_cross_entropy"
    ),
}
