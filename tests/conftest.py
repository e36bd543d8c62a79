"""For all tests: settings of the environment are read once per process, but tests change them; programs
are made anew, since tests change what makes them."""

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

from headrace.core import options

os.environ.setdefault("HEADRACE_WITHOUT", "kept")
os.environ.setdefault("HEADRACE_FAULTS", "raise")  # also in processes that a test starts
if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):  # a shell's background job would wait for its Ctrl-C for good
    signal.signal(signal.SIGINT, signal.default_int_handler)

# On a machine that has other work no example is too slow.  Every run tries the same ones; others are tried
# with pytest --hypothesis-profile=others.
settings.register_profile(
    "same", deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
settings.register_profile("others", settings.get_profile("same"), derandomize=False)
settings.load_profile("same")


@pytest.fixture(autouse=True)
def settings_read_anew():
    forget()
    yield
    forget()


def forget():
    for setting in (options.shown, options.verify, options.bounds, options.without):
        setting.cache_clear()
