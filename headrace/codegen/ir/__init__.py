"""The compiler's language: expressions over arrays, ranges of values, stages, kernels."""
