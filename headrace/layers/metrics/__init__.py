"""tf.metrics: numbers that build up over many steps, each as (value, update)."""
