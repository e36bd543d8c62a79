"""Flags, tf.app.run, logging."""

from __future__ import annotations

import logging

import pytest

import headrace as tf
from headrace.functions.platform import own_flags as flags
from headrace.functions.platform.flag_values import FlagValues


@pytest.fixture
def values():
    values = FlagValues()
    for define, name, default in (
        (flags.DEFINE_string, "word", "a"),
        (flags.DEFINE_integer, "steps", 10),
        (flags.DEFINE_float, "rate", 0.5),
        (flags.DEFINE_bool, "loud", False),
        (flags.DEFINE_list, "names", ["x"]),
        (flags.DEFINE_multi_integer, "size", [1]),
    ):
        define(name, default, "help", flag_values=values)
    flags.DEFINE_enum("mode", "train", ["train", "test"], "help", flag_values=values)
    return values


def test_defaults(values):
    assert values(["prog"]) == ["prog"]
    assert values.flag_values_dict() == {
        "word": "a",
        "steps": 10,
        "rate": 0.5,
        "loud": False,
        "names": ["x"],
        "size": [1],
        "mode": "train",
    }


def test_command_line(values):
    rest = values(
        "prog --word=b=c --steps 0x10 -rate=1e-3 --loud file --names=p,q --size=2 --size 3 "
        "--mode=test -- --word=z".split()
    )
    assert rest == ["prog", "file", "--word=z"]
    assert (values.word, values.steps, values.rate, values.loud) == ("b=c", 16, 1e-3, True)
    assert (values.names, values.size, values.mode) == (["p", "q"], [2, 3], "test")
    values(["prog", "--noloud"])
    assert values.loud is False
    assert "--noloud" in values.flags_into_string()


@pytest.mark.parametrize("argument", ["--steps=x", "--steps=1.5", "--mode=other", "--loud=maybe", "--rate="])
def test_bad_values(values, argument):
    with pytest.raises(flags.IllegalFlagValueError):
        values(["prog", argument])


def test_unknown_flags(values):
    with pytest.raises(flags.UnrecognizedFlagError, match="nothing"):
        values(["prog", "--nothing=1"])
    assert values(["prog", "--nothing=1"], known_only=True) == ["prog", "--nothing=1"]
    with pytest.raises(AttributeError):
        values.nothing  # noqa: B018
    with pytest.raises(AttributeError):
        values.nothing = 1


def test_conditions(values):
    flags.DEFINE_string("needed", None, "help", flag_values=values)
    flags.mark_flag_as_required("needed", values)
    with pytest.raises(flags.IllegalFlagValueError, match="must have a value"):
        values(["prog"])
    flags.register_validator("steps", lambda v: v > 0, "positive", values)
    with pytest.raises(flags.IllegalFlagValueError, match="positive"):
        values(["prog", "--needed=1", "--steps=-1"])
    with pytest.raises(flags.DuplicateFlagError):
        flags.DEFINE_string("word", "", "", flag_values=values)


def test_flag_file(values, tmp_path):
    path = tmp_path / "flags"
    path.write_text("# note\n--steps=3\n\n--loud\n")
    values(["prog", f"--flagfile={path}", "--word=w"])
    assert (values.steps, values.loud, values.word) == (3, True, "w")


def test_run():
    seen = []
    with pytest.raises(SystemExit) as end:
        tf.app.run(lambda argv: seen.append(argv) or 3, ["prog", "rest", "--not_ours=1"])
    assert (seen, end.value.code) == ([["prog", "rest", "--not_ours=1"]], 3)


def test_logging(caplog):
    logger = tf.get_logger()
    old = tf.logging.get_verbosity()
    try:
        tf.logging.set_verbosity(tf.logging.INFO)
        with caplog.at_level(logging.INFO, logger.name):
            for i in range(5):
                tf.logging.log_first_n(tf.logging.WARN, "few %d", 2, i)
                tf.logging.log_every_n(tf.logging.INFO, "some %d", 3, i)
            tf.logging.debug("hidden")
            tf.logging.warning("seen")
        assert [r.getMessage() for r in caplog.records] == ["few 0", "some 0", "few 1", "some 3", "seen"]
        assert caplog.records[-1].filename == "test_flags.py"
    finally:
        tf.logging.set_verbosity(old)
