"""SciPy's functions with derivatives; SciPy itself is the caller's to install."""

from headrace.autograd.scipy import integrate, linalg, signal, special, stats

__all__ = ["integrate", "linalg", "signal", "special", "stats"]
