"""Every public name of the tables resolves, and none before it is asked for."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import headrace as tf
from headrace.api import FAMILIES
from headrace.api.namespace import expand

NOTHING = object()


def names(family):
    table = importlib.import_module(f"headrace.api.{family}").NAMES
    for module, text in table.items():
        for place, name, internal in expand(text):
            yield f"{place}.{name}" if place else name, module, internal


@pytest.mark.parametrize("family", FAMILIES)
def test_resolve(family):
    missing = []
    for public, module, internal in names(family):
        owner = importlib.import_module(module)
        wanted = owner if internal == "." else getattr(owner, internal, NOTHING)
        found = tf
        for word in public.split("."):
            found = getattr(found, word, NOTHING)
        if wanted is NOTHING or found is not wanted:
            missing.append(f"tf.{public} is {found!r}, {module}.{internal} is {wanted!r}")
    assert not missing, "\n".join(missing)


def test_a_name_has_one_home():
    """Two families may name the same thing, but not two things alike."""
    homes: dict[str, object] = {}
    for family in FAMILIES:
        for public, module, internal in names(family):
            owner = importlib.import_module(module)
            thing = owner if internal == "." else getattr(owner, internal)
            assert homes.setdefault(public, thing) is thing, f"tf.{public} has two homes"


def test_a_wrong_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'headrace.nn' has no attribute 'sofmax'"):
        _ = tf.nn.sofmax
    assert not hasattr(tf, "contribs")
    assert "softmax" in dir(tf.nn) and "reduce_sum" in dir(tf)


PROBE = """
import sys
before = set(sys.modules)
import headrace as tf
def loaded():
    names = {m for m in sys.modules if m.startswith("headrace.")} - before
    ours = {m.__name__ for n in names if (m := sys.modules[n]).__spec__ is not None}
    return sorted(n for n in ours if not n.startswith("headrace.api"))
print(" ".join(loaded()))
print(" ".join(sorted({"numpy", "ml_dtypes", "google.protobuf", "llvmlite"} & set(sys.modules))))
tf.float32
print(" ".join(loaded()))
tf.nn.softmax
print(len(loaded()))
print("headrace.codegen" in sys.modules, "llvmlite" in sys.modules)
"""


@pytest.mark.process
def test_names_resolve_lazily():
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True)
    at_import, heavy, with_types, with_softmax, native = done.stdout.splitlines()
    loaded = ("core", "core.collecting", "core.later", "core.sources", "version")
    first = [f"headrace.{name}" for name in loaded]
    assert at_import.split() == first, "import headrace loads little more than tables of names"
    assert heavy == "", "NumPy and protobuf load when something needs them"
    assert with_types.split() == sorted([*first, "headrace.core.dtypes"])
    assert int(with_softmax) > 10
    assert native == "False False", "building a graph compiles nothing"
