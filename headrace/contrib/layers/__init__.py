"""tf.contrib.layers: functions with default arguments by scope, over tf.layers."""
