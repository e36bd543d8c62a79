"""tensorflow.python.util: what libraries decorate, inspect and document their functions with."""

from collections import abc as collections_abc

__all__ = ["collections_abc"]
