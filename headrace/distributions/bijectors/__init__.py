"""tf.contrib.distributions.bijectors: invertible functions that know how they stretch space."""
