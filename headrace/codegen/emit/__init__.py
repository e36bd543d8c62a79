"""Kernels -> LLVM's text."""
