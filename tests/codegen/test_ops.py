"""Every op with a compiled rule, on its own samples: compiled equals reference, whether its operands are
arrays or expressions that are put into it.  test_configurations.py runs this without oneDNN, and so on."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf
from headrace.codegen.ir.kernel_ir import kind_of
from headrace.core.dtypes import as_dtype, resource
from headrace.core.shapes import as_shape
from headrace.ops.array.constant import constant
from headrace.ops.array.source import placeholder
from headrace.ops.declaration.emit import Decline
from headrace.ops.declaration.resources import Slot
from headrace.ops.state.state import var_handle, variable_v2
from headrace.runtime.containers import Containers
from tests.codegen.compare import Runner, assert_same, settled
from tests.ops.declared import samples

pytestmark = pytest.mark.native


# Where operands are put in: windows, products, norms, reductions.  Others are in the long form.
FAMILIES = frozenset(
    "conv conv3d depthwise pool pool3d matrix batch_norm norm softmax reduce bias segment "
    "cumulative pad".split()
)


def family(op):
    return op.__module__.rpartition(".")[-1]


def cases(short=None):
    """Ops with samples; of other families than these they are slow."""
    for name, op, sample in samples():
        if op.lower_rule is not None or op.library_rules:
            flat = [v for x in sample.inputs for v in (x if isinstance(x, (list, tuple)) else [x])]
            try:
                for v in flat:
                    kind_of(as_dtype(np.asarray(v).dtype))
            except Decline:
                continue
            is_slow = short is not None and family(op) not in short
            yield pytest.param(op, sample, id=name, marks=[pytest.mark.slow] if is_slow else [])


class Sum:
    """x + 1"""

    def before(self, array):
        return array - array.dtype.type(1)

    def apply(self, x):
        return x + 1


class Bias(Sum):
    """bias_add(x, [1, 2, ...])"""

    def before(self, array):
        return array - self.numbers(array)

    def apply(self, x):
        return tf.nn.bias_add(x, self.numbers(x))

    def numbers(self, x):
        return np.arange(1, int(x.shape[-1]) + 1).astype(as_dtype(x.dtype).as_numpy_dtype)


class Relu(Sum):
    """Its positive and negative part, and 1."""

    def apply(self, x):
        return tf.nn.relu(x) - tf.nn.relu(-x) + 1


def expression(array, number):
    """What gives the array again, nearly, and is not 0 where what it reads is."""
    if array.dtype.kind == "c" or array.ndim < 2 or 0 in array.shape:
        return Sum()
    return (Sum(), Bias(), Relu())[number % 3]


class Made:
    """The op with floats fed and integers constant (they are axes and the like), or all fed; floats as
    they are, or as expressions."""

    def __init__(self, op, inputs, attrs, all_fed, on_expressions=False):
        self.graph, self.feeds, self.variables = tf.Graph(), {}, {}
        self.all_fed, self.on_expressions = all_fed, on_expressions
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
        made = None
        if self.on_expressions and as_dtype(array.dtype).is_floating:
            made = expression(array, len(self.feeds))
            array = np.asarray(made.before(array))
        tensor = placeholder(dtype=as_dtype(array.dtype), shape=array.shape)
        self.feeds[tensor] = array
        return tensor if made is None else made.apply(tensor)

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


@pytest.mark.parametrize("op,sample", list(cases(FAMILIES)))
def test_on_expressions(op, sample):
    variants = [sample.inputs, narrow(sample.inputs)] if op.library_rules else [sample.inputs]
    for inputs in variants:
        check(Made(op, inputs, sample.attrs, False, on_expressions=True), sample.tolerance)
