"""tf.contrib.framework: scopes of arguments, variables, restoring."""
