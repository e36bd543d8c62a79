"""tf.data: what a program builds input pipelines with.  The ops are in ops/data."""
