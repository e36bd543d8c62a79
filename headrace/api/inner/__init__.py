"""What TF 1.15's internal modules have beside the public names, where nothing of ours had it yet."""
