"""The cluster of pods, as an API of our own lists them."""

from __future__ import annotations

import importlib.util
from types import SimpleNamespace

import pytest

import headrace as tf

Resolver = tf.distribute.cluster_resolver.KubernetesClusterResolver


class Pods:
    """(name, phase, address) by selector."""

    def __init__(self, **pods):
        self.pods = pods

    def list_pod_for_all_namespaces(self, label_selector):
        found = [
            SimpleNamespace(
                metadata=SimpleNamespace(name=name), status=SimpleNamespace(phase=phase, host_ip=address)
            )
            for name, phase, address in self.pods[label_selector.replace("=", "_")]
        ]
        return SimpleNamespace(items=found)


def test_pods_by_selector():
    pods = Pods(
        a_1=[("z", "Running", "10.0.0.2"), ("b", "Running", "10.0.0.1")],
        a_2=[("a", "Running", "10.0.0.3")],
        c_3=[("p", "Running", "10.0.0.9")],
    )
    resolver = Resolver({"worker": ["a=1", "a=2"], "ps": ["c=3"]}, 2222, override_client=pods)
    assert resolver.cluster_spec().as_dict() == {
        "worker": ["10.0.0.1:2222", "10.0.0.2:2222", "10.0.0.3:2222"],
        "ps": ["10.0.0.9:2222"],
    }
    assert resolver.master() == ""
    assert resolver.master("worker", 2) == "grpc://10.0.0.3:2222"
    resolver.task_type, resolver.task_id = "ps", 0
    assert resolver.master() == "grpc://10.0.0.9:2222"


def test_a_pod_that_does_not_run():
    resolver = Resolver(override_client=Pods(**{"job-name_tensorflow": [("p", "Pending", None)]}))
    with pytest.raises(RuntimeError, match='Pod "p" is not running; phase: "Pending"'):
        resolver.cluster_spec()


@pytest.mark.skipif(importlib.util.find_spec("kubernetes") is not None, reason="kubernetes is installed")
def test_without_a_client():
    with pytest.raises(ImportError, match="pip install kubernetes"):
        Resolver()
