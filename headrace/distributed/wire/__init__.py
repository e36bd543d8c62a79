"""TensorFlow's protocol over gRPC: services and messages, values as bytes, statuses, signs of life."""
