"""Every mode, both kinds of variables, a graph of its own."""

from __future__ import annotations

import pytest

import headrace as tf
from tests.session.order_of_state.programs import MODES

KINDS = {"reference": False, "resource": True}


@pytest.fixture(params=MODES)
def mode(request, monkeypatch):
    monkeypatch.setenv("HEADRACE_COMPILE", MODES[request.param])


@pytest.fixture(params=KINDS)
def use_resource(request):
    return KINDS[request.param]


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph
