"""Every op, declared once: signature, NumPy meaning, shape rule, gradient, compiled rule, samples."""

from headrace.ops import operators as operators  # Tensor has its operators from the start
