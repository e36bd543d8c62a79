"""Random numbers: Philox, distributions, candidates, the state of generators."""
