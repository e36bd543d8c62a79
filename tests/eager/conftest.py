"""Every test of this folder runs in eager mode."""

import pytest

from headrace.eager.context import eager_mode


@pytest.fixture(autouse=True)
def at_once():
    with eager_mode():
        yield
