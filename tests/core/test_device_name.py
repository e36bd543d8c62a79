"""Names of devices: what is read, how it is written, what is merged."""

import pytest

from headrace.core.device_name import DeviceSpec, canonical, merge, parse


@pytest.mark.parametrize(
    "text, expected",
    [
        ("/cpu:0", "/device:CPU:0"),
        ("/job:worker/task:1", "/job:worker/task:1"),
        ("/job:ps/replica:0/task:2/gpu:*", "/job:ps/replica:0/task:2/device:GPU:*"),
        ("", ""),
    ],
)
def test_canonical(text, expected):
    assert canonical(text) == expected


def test_inner_scope_wins():
    assert merge("/job:ps/task:0/cpu:0", "/task:3") == "/job:ps/task:3/device:CPU:0"


def test_matches():
    full = parse("/job:localhost/replica:0/task:0/device:CPU:1")
    assert parse("/cpu:1").matches(full)
    assert parse("/device:CPU:*").matches(full)
    assert not parse("/gpu:0").matches(full)


@pytest.mark.parametrize("text", ["/cpu:zero", "/room:3", "/cpu:0/gpu:0"])
def test_nonsense_is_refused(text):
    with pytest.raises(ValueError):
        DeviceSpec.from_string(text)
