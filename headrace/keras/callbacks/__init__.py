"""What a training run calls at its epochs and batches."""
