"""tf.app, tf.flags, devices, compatibility."""
