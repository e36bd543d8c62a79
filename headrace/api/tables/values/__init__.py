"""Public names of the families that compute: arrays, numbers, strings, images."""
