"""Many replicas of one model: how their gradients come together."""
