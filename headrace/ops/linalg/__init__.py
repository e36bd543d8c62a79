"""Matrices: products, factors, solvers, spectra, Fourier transforms."""
