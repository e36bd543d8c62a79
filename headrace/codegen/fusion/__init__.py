"""Stages -> kernels: what is inlined, what shares a loop, what updates in place."""
