"""Instances of a group, as an API of our own lists them; no TPUs."""

from __future__ import annotations

import importlib.util
from types import SimpleNamespace

import pytest

import headrace as tf

resolvers = tf.distribute.cluster_resolver


def answer(value):
    return SimpleNamespace(execute=lambda: value)


class Service:
    """Two pages of instances."""

    pages = [["zone/x/b", "zone/x/c"], ["zone/x/a"]]
    addresses = {"a": "10.0.0.1", "b": "10.0.0.2", "c": "10.0.0.3"}

    def instanceGroups(self):
        left = [answer({"items": [{"instance": name} for name in page]}) for page in self.pages]
        return SimpleNamespace(
            listInstances=lambda **how: left.pop(0),
            listInstances_next=lambda **how: left.pop(0) if left else None,
        )

    def instances(self):
        def get(project, zone, instance):
            return answer({"networkInterfaces": [{"networkIP": self.addresses[instance]}]})

        return SimpleNamespace(get=get)


def test_instances():
    resolver = resolvers.GCEClusterResolver("p", "z", "g", 8470, task_id=1, service=Service())
    assert resolver.cluster_spec().as_dict() == {
        "worker": ["10.0.0.1:8470", "10.0.0.2:8470", "10.0.0.3:8470"]
    }
    assert resolver.master() == "grpc://10.0.0.2:8470"
    assert resolver.master("worker", 2, "x") == "x://10.0.0.3:8470"
    resolver.task_id = 0
    assert resolver.master() == "grpc://10.0.0.1:8470"
    with pytest.raises(RuntimeError, match="cannot reset the task_type"):
        resolver.task_type = "ps"


@pytest.mark.skipif(importlib.util.find_spec("googleapiclient") is not None, reason="it is installed")
def test_without_a_client():
    with pytest.raises(ImportError, match="googleapiclient must be installed"):
        resolvers.GCEClusterResolver("p", "z", "g", 8470)


def test_no_tpus():
    with pytest.raises(NotImplementedError, match="Google's cloud client and TPUs"):
        resolvers.TPUClusterResolver("name")
