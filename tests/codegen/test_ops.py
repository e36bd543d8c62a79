"""Every op with a compiled rule, on its own samples: compiled equals reference."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf
from headrace.codegen.kernel_ir import kind_of
from headrace.core.dtypes import as_dtype, resource
from headrace.core.shapes import as_shape
from headrace.ops.constant import constant
from headrace.ops.emit import Decline
from headrace.ops.resources import Slot
from headrace.ops.source import placeholder
from headrace.ops.state import var_handle, variable_v2
from headrace.runtime.containers import Containers
from tests.codegen.compare import Runner, assert_same, settled
from tests.ops.declared import samples

pytestmark = pytest.mark.native


def cases():
    for name, op, sample in samples():
        if op.lower_rule is not None or op.library_rules:
            flat = [v for x in sample.inputs for v in (x if isinstance(x, (list, tuple)) else [x])]
            try:
                for v in flat:
                    kind_of(as_dtype(np.asarray(v).dtype))
            except Decline:
                continue
            yield pytest.param(op, sample, id=name)


class Made:
    """The op with floats fed and integers constant (they are axes and the like), or all fed."""

    def __init__(self, op, inputs, attrs, all_fed):
        self.graph, self.feeds, self.variables = tf.Graph(), {}, {}
        self.all_fed = all_fed
        with self.graph.as_default():
            arguments = [self.argument(x, arg) for x, arg in zip(inputs, op.signature.inputs)]
            result = op(*arguments, **attrs)
        while isinstance(result, (list, tuple)):
            result = result[0]
        self.node = result if isinstance(result, tf.Operation) else result.op
        self.outputs = list(self.node.outputs)

    def argument(self, x, arg):
        if isinstance(x, (list, tuple)):
            return [self.argument(v, arg) for v in x]
        array = np.asarray(x)
        if arg.is_ref or arg.dtype is resource:
            name = f"variable{len(self.variables)}"
            self.variables[name] = array
            make = variable_v2 if arg.is_ref else var_handle
            return make(dtype=as_dtype(array.dtype), shape=array.shape, shared_name=name)
        if array.dtype.kind in "iu" and not self.all_fed:
            return constant(array)
        tensor = placeholder(dtype=as_dtype(array.dtype), shape=array.shape)
        self.feeds[tensor] = array
        return tensor

    def containers(self):
        """State of its own, with the variables' values."""
        found = Containers()
        for name, array in self.variables.items():
            slot = Slot(name, as_dtype(array.dtype), as_shape(array.shape))
            slot.value = np.array(array)
            found.get_or_make("", "variable", name, lambda slot=slot: slot)
        return found


def narrow(x):
    """The same in float32: what libraries know best."""
    if isinstance(x, (list, tuple)):
        return [narrow(v) for v in x]
    array = np.asarray(x)
    return array.astype(np.float32) if array.dtype == np.float64 else x


def check(made, tolerance):
    """Results and variables, compiled and by the reference."""
    runner = Runner(made.graph, list(made.feeds), made.outputs, [made.node])
    arrays = [np.ascontiguousarray(a).reshape(a.shape) for a in made.feeds.values()]
    before = made.containers()
    want = runner.expected(before, arrays)
    got, after = settled(runner, arrays, made.containers)
    for g, w in zip(got, want):
        assert_same(g, w, tolerance)
    for name in made.variables:
        slots = [c.find("", "variable", name) for c in (after, before)]
        assert_same(slots[0].value, slots[1].value, tolerance, name)


@pytest.mark.parametrize("op,sample", list(cases()))
def test_compiled_equals_reference(op, sample):
    variants = [(sample.inputs, False), (sample.inputs, True)]
    if op.library_rules:
        variants.append((narrow(sample.inputs), False))
    for inputs, all_fed in variants:
        check(Made(op, inputs, sample.attrs, all_fed), sample.tolerance)
