"""tf.keras of TF 1.15: models, what they are made of, and how they are trained."""
