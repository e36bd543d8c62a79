"""Features that TF 1.15 has outside its public interface, offered to the conformance harness."""

from headrace.functions import composite
from headrace.ops import indexed_slices
from headrace.variables import defun
from tests import test_only_ops

NAMES: dict[str, object] = {
    "composite_tensor.CompositeTensor": composite.CompositeTensor,
    "type_spec.type_spec_from_value": composite.type_spec_from_value,
    "type_spec.BatchableTypeSpec": composite.BatchableTypeSpec,
    "indexed_slices.IndexedSlicesValue": indexed_slices.IndexedSlicesValue,
    "ops.IndexedSlicesValue": indexed_slices.IndexedSlicesValue,
    "function.Defun": defun.Defun,
    "function.get_extra_args": defun.get_extra_args,
    "function.get_extra_inputs": defun.get_extra_inputs,
    "function.get_extra_vars": defun.get_extra_vars,
}
assert test_only_ops.older_graph is not None  # importing it declares the ops
