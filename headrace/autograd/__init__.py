"""autograd's interface: derivatives of ordinary functions over NumPy, by tracing (`import
headrace.autograd`).

    import headrace.autograd.numpy as np
    from headrace.autograd import grad

A function is run as it is, on boxes (tracer.py); every primitive that meets one leaves a node; rules
(core.py, one table for both directions) give the derivative.  Values are NumPy's.
"""

from headrace.autograd import numpy
from headrace.autograd.builtins import dict, isinstance, list, tuple, type
from headrace.autograd.core import primitive
from headrace.autograd.differential_operators import (
    checkpoint,
    deriv,
    elementwise_grad,
    grad,
    grad_and_aux,
    grad_named,
    hessian,
    hessian_tensor_product,
    hessian_vector_product,
    holomorphic_grad,
    jacobian,
    make_ggnvp,
    make_hvp,
    make_jvp,
    make_vjp,
    multigrad_dict,
    tensor_jacobian_product,
    value_and_grad,
    vector_jacobian_product,
)

__all__ = [
    "checkpoint",
    "deriv",
    "dict",
    "elementwise_grad",
    "grad",
    "grad_and_aux",
    "grad_named",
    "hessian",
    "hessian_tensor_product",
    "hessian_vector_product",
    "holomorphic_grad",
    "isinstance",
    "jacobian",
    "list",
    "make_ggnvp",
    "make_hvp",
    "make_jvp",
    "make_vjp",
    "multigrad_dict",
    "numpy",
    "primitive",
    "tensor_jacobian_product",
    "tuple",
    "type",
    "value_and_grad",
    "vector_jacobian_product",
]
