"""Whose graphs a task keeps, beside a model."""

from __future__ import annotations

import random

from headrace.distributed.worker.owners import Owners


def test_graphs_of_an_earlier_life_are_left():
    owners = Owners()
    owners.add("/job:a 1", ("", "x"))
    owners.add("/job:b 1", ("", "y"))
    assert owners.succeeded("/job:a 1") == set() and owners.succeeded("") == set()
    assert owners.succeeded("/job:a 2") == {("", "x")}
    assert owners.succeeded("/job:a 2") == set() and len(owners) == 1


def test_random_orders():
    rng = random.Random(0)
    owners, model = Owners(), {}
    for number in range(2000):
        task, life = rng.choice("abc"), rng.choice("12")
        sender = f"{task} {life}"
        left = owners.succeeded(sender)
        lost = {g for g, who in model.items() if who[0] == task and who[2] != life}
        assert left == lost
        for graph in lost:
            del model[graph]
        owners.add(sender, ("s", str(number)))
        model["s", str(number)] = sender
        if rng.random() < 0.7:
            gone = rng.choice(sorted(model))
            owners.discard(gone)
            del model[gone]
    assert len(owners) == len(model)
    for graph in list(model):
        owners.discard(graph)
    assert not owners._lives and not owners._graphs
