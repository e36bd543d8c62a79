"""Hashes are the same everywhere: the numbers below come from TensorFlow 2.21."""

import numpy as np
import pytest

from headrace.ops.array.hashing import fingerprint64, hash64, of_strings, siphash
from headrace.ops.declaration.text import strings

LENGTHS = (0, 1, 3, 4, 7, 8, 16, 17, 32, 33, 64, 65, 128, 129, 300)
TEXTS = [bytes((i * 7 + n) % 256 for i in range(n)) for n in LENGTHS]
FAST = [
    1936946117179621455, 550085751958558782, 50737162503519588, 74291032824012392,
    3398365883158499592, 3403648104430010920, 663651183927826904, 3125010364355856015,
    3992320350721670009, 3233698670931835597, 1859692024977922284, 444801980686921533,
    2003798058489048521, 455335815384283847, 3886849482814154722,
]  # fmt: skip
STRONG = [
    443797209252341627, 4365220300980176642, 4565641951008766667, 3017298630766364753,
    2400118067033179709, 573619684272792544, 1748100174260822229, 3283781455520671934,
    2898457898083507100, 367136090311788102, 2798266876038377283, 2323018304374953427,
    2587001308437498367, 1910641521744185725, 106050501943255048,
]  # fmt: skip
OLD = [
    105434511174508091, 2499542889307245882, 664798910978920875, 1071300106493060473,
    3552175740516232787, 1792776028251320487, 995847565073455182, 3561695271940059064,
    2782484674102228036, 3102851608180839949, 2817797733315875061, 799619217219469469,
    2197624490377029079, 247932997590592149, 2198150325883599006,
]  # fmt: skip
CASES = [(fingerprint64, (), FAST), (siphash, ((1, 2),), STRONG), (hash64, (), OLD)]


@pytest.mark.parametrize("function, args, expected", CASES, ids=["farm", "sip", "murmur"])
def test_one_string(function, args, expected):
    assert [function(text, *args) % 2**62 for text in TEXTS] == expected


@pytest.mark.parametrize("function, args, expected", CASES, ids=["farm", "sip", "murmur"])
def test_many_strings_of_one_length(function, args, expected):
    many = strings([text for text in TEXTS for _ in range(20)], (len(TEXTS), 20))
    found = of_strings(function, many, *args) % np.uint64(2**62)
    assert found.tolist() == [[number] * 20 for number in expected]
