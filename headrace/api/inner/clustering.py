"""tensorflow.python.ops.clustering_ops: the words for distances and first centres."""

SQUARED_EUCLIDEAN_DISTANCE, COSINE_DISTANCE = "squared_euclidean", "cosine"
RANDOM_INIT, KMEANS_PLUS_PLUS_INIT, KMC2_INIT = "random", "kmeans_plus_plus", "kmc2"
CLUSTERS_VAR_NAME = "clusters"
