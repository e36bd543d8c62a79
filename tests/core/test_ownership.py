"""Counts of holders, whatever this Python counts for local variables."""

import numpy as np

from headrace.core import dtypes
from headrace.core.ownership import holders, is_changeable
from headrace.core.shapes import UNKNOWN
from headrace.ops.declaration.resources import Slot
from headrace.session.results import to_user


def test_each_list_is_a_holder():
    values = [np.zeros(3)]
    assert holders(values, 0) == 1
    others = [[values[0]] for _ in range(3)]
    assert holders(values, 0) == 4
    others.pop()
    assert holders(values, 0) == 3


def test_a_view_holds_what_it_looks_into():
    values = [np.zeros(3)]
    views = [values[0][1:]]
    assert (holders(values, 0), holders(views, 0)) == (2, 1)
    assert is_changeable(values[0]) and not is_changeable(views[0])


def address(array):
    return array.__array_interface__["data"][0]


def test_a_fetched_array_is_given_away_where_nobody_else_has_it():
    values = [np.arange(3), np.arange(9)[2:5], np.arange(3)]
    kept = values[2]
    wanted = [address(v) for v in values]
    found = [to_user(values, i, dtypes.int64) for i in range(3)]
    assert [address(v) == w for v, w in zip(found, wanted)] == [True, True, False]
    assert values == [None, None, None] and kept.tolist() == [0, 1, 2]


def test_a_view_of_what_others_have_is_copied():
    kept = np.arange(9)
    values = [kept[2:5]]
    to_user(values, 0, dtypes.int64)[0] = 77
    assert kept.tolist() == list(range(9))


def test_a_variable_changes_in_place_where_nobody_else_has_its_array():
    slot = Slot("v", dtypes.int64, UNKNOWN)
    slot.value = np.arange(3)
    place = address(slot.value)
    with slot.lock, slot.changing() as value:
        value += 1
    del value
    assert address(slot.value) == place
    kept = slot.value
    with slot.lock, slot.changing() as value:
        value += 1
    assert kept.tolist() == [1, 2, 3] and slot.value.tolist() == [2, 3, 4]
