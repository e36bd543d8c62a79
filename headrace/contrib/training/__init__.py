"""tf.contrib.training: hyperparameters and training steps."""
