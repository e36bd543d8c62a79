"""Who knows which tasks there are: TF_CONFIG, Slurm, Kubernetes, Google's cloud."""
