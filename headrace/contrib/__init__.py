"""Layers of tf.contrib: functions with default arguments by scope (arg_scope), over tf.layers."""
