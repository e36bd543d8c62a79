"""Damaged bytes for every reader: see fuzz_readers.  Values or refusals; no crash, no hang, little memory."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.formats.fuzz_readers import READERS, damaged

FEW = settings(max_examples=15)
MANY = settings(max_examples=2000)
KINDS = pytest.mark.parametrize("kind", READERS)
# Protobuf's reader of text lets Python warn of an escape that it does not know, and keeps it as it stands.
pytestmark = pytest.mark.filterwarnings("ignore:.*invalid .*escape sequence")


@KINDS
def test_seeds_are_read(tmp_path, kind):
    reader = READERS[kind]
    reader.beside(tmp_path)
    assert reader.tried(tmp_path, reader.start()) is None


@KINDS
@FEW
@given(number=st.integers(0, 2**32))
def test_damage(tmp_path, kind, number):
    try_one(tmp_path, kind, number)


@pytest.mark.slow
@KINDS
@MANY
@given(number=st.integers(0, 2**32))
def test_much_damage(tmp_path, kind, number):
    try_one(tmp_path, kind, number)


def try_one(folder, kind, number):
    reader = READERS[kind]
    reader.beside(folder)
    reader.tried(folder, damaged(reader.start(), random.Random(number)))


@KINDS
@FEW
@given(noise=st.binary(max_size=200))
def test_noise(tmp_path, kind, noise):
    reader = READERS[kind]
    reader.beside(tmp_path)
    reader.tried(tmp_path, noise)
