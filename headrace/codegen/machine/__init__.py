"""The machine: its vectors, the compiler, the caches of kernels, threads."""
