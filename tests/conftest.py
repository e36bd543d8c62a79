"""For all tests: settings of the environment are read once per process, but tests change them; programs
are made anew, since tests change what makes them."""

import os

import pytest

from headrace.core import options

os.environ.setdefault("HEADRACE_WITHOUT", "kept")
os.environ.setdefault("HEADRACE_FAULTS", "raise")  # also in processes that a test starts


@pytest.fixture(autouse=True)
def settings_read_anew():
    forget()
    yield
    forget()


def forget():
    for setting in (options.shown, options.verify, options.without):
        setting.cache_clear()
