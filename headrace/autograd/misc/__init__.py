"""Beside derivatives: structures as vectors, records of functions, optimizers, fixed points."""

from headrace.autograd.misc import fixed_points, optimizers, tracers
from headrace.autograd.misc.flatten import flatten
from headrace.autograd.misc.tracers import const_graph, full_graph

__all__ = ["const_graph", "fixed_points", "flatten", "full_graph", "optimizers", "tracers"]
