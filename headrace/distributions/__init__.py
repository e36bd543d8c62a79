"""tf.distributions: probability distributions whose parameters are tensors."""
