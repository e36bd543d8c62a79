"""tensorflow.python.util: decorators, inspection, deprecation, exports, documented names."""

from __future__ import annotations

import functools
import sys
from types import ModuleType

import pytest

import headrace as tf
from headrace.api.util import callables, decorators, deprecation, dispatch, documented, exports, inspection


def around(function):
    def wrapper(*args, **kwargs):
        return wrapper.__wrapped__(*args, **kwargs) + 1

    return decorators.make_decorator(function, wrapper)


def add(a, b=2):
    """Add."""
    return a + b


def test_decorator_knows_its_target():
    twice = around(around(add))
    layers, target = decorators.unwrap(twice)
    assert [layer.decorator_name for layer in layers] == ["around", "around"]
    assert target is add and twice.__name__ == "add" and twice(1) == 5
    decorators.rewrap(twice, add, lambda a: a * 10)
    assert twice(1) == 12


def test_inspection_looks_through_layers():
    assert inspection.getargspec(around(add)) == inspection.ArgSpec(["a", "b"], None, None, (2,))
    declared = decorators.make_decorator(
        add, lambda *a: 0, decorator_argspec=inspection.getfullargspec(max_of)
    )
    assert inspection.getfullargspec(declared).args == ["x", "y"]
    bound = functools.partial(add, b=5)
    assert inspection.getargspec(bound).defaults == (5,)
    assert inspection.getcallargs(around(add), 1) == {"a": 1, "b": 2}
    assert "annotation" not in repr(inspection.getfullargspec(tf.reduce_sum).annotations)


def max_of(x, y):
    return max(x, y)


def test_arguments_of_what_can_be_called():
    class Model:
        def __call__(self, features, **params):
            return features

    assert callables.fn_args(Model()) == ("features",) and callables.has_kwargs(Model())
    assert callables.fn_args(functools.partial(add, 1)) == ("b",)
    assert callables.get_func_name(Model().__call__) == "Model.__call__"


def test_deprecation_is_said_once(caplog):
    @deprecation.deprecated("2019-01-01", "Use new.")
    def old():
        """Old."""
        return 1

    @deprecation.deprecated_args(None, "Drop it.", ("scale", None))
    def scaled(x, scale=None):
        return x

    with caplog.at_level("WARNING", logger="tensorflow"):
        assert (old(), old(), scaled(1), scaled(1, scale=2)) == (1, 1, 1, 1)
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 2 and "after 2019-01-01" in said[0] and "with scale" in said[1]
    assert old.__doc__.startswith("Old. (deprecated)\n\nWarning: THIS FUNCTION IS DEPRECATED")
    with pytest.raises(ValueError, match="YYYY-MM-DD"):
        deprecation.deprecated("soon", "Use new.")
    with pytest.raises(ValueError, match="Cannot specify both 'dim' and 'axis'"):
        deprecation.deprecated_argument_lookup("axis", 1, "dim", 2)


def test_exported_names():
    @exports.tf_export("a.b", v1=["b"])
    class Thing:
        pass

    assert exports.get_canonical_name_for_symbol(Thing) == "a.b"
    assert exports.get_v1_names(Thing) == ["b"]
    with pytest.raises(exports.SymbolAlreadyExposedError):
        exports.tf_export("c")(Thing)
    with pytest.raises(exports.InvalidSymbolNameError):
        exports.estimator_export("train.Thing")
    with pytest.raises(TypeError, match="only takes keyword args"):
        exports.kwarg_only(add)(1, 2)


def test_only_documented_names_stay(monkeypatch):
    module = ModuleType("made", "A module.\n\n@@kept\n")
    module.__dict__.update(kept=1, allowed=2, gone=3)
    monkeypatch.setitem(sys.modules, "made", module)
    documented.remove_undocumented("made", allowed_exception_list=["allowed"])
    assert [n for n in vars(module) if not n.startswith("_")] == ["kept", "allowed"]
    documented.reveal_undocumented("made.gone")
    assert module.gone == 3


def test_dispatch_by_type():
    @dispatch.add_dispatch_support
    def size(x):
        raise TypeError("unknown")

    @dispatch.dispatch_for_types(size, str)
    def of_text(x):
        return len(x)

    assert size("abc") == 3
    with pytest.raises(TypeError, match="unknown"):
        size(1)
    with pytest.raises(AssertionError, match="Dispatching not enabled"):
        dispatch.dispatch_for_types(tf.add, str)(lambda x, y, name=None: 0)
