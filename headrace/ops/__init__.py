"""Every op, declared once: signature, meaning in NumPy, shape rule, gradient, compiled rule, samples."""
