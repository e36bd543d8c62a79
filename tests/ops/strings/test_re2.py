"""RE2's syntax and meaning, where Python's differ."""

import pytest

from headrace.ops.declaration.text import strings
from headrace.ops.strings import re2
from headrace.ops.strings.regex import regex_replace


def replace(pattern, text, rewrite=rb"<\0>"):
    out = regex_replace.reference(
        strings([text], ()), strings([pattern], ()), strings([rewrite], ()), replace_global=True
    )
    return out[()]


@pytest.mark.parametrize(
    "pattern, text, expected",
    [
        (rb"x*", b"axb", b"<>a<x>b<>"),  # no empty match right behind a match
        (rb"x$", b"x\n", b"x\n"),  # the end of the text, not of the line
        (rb"(?m)x$", b"x\n", b"<x>\n"),
        (rb"a(?i)b|c", b"aB ab Ab C", b"<aB> <ab> Ab <C>"),  # flags reach over the bar
        (rb"(?U)a+", b"aaa", b"<a><a><a>"),
        (rb"\w+", "né".encode(), "<n>é".encode()),  # classes are ASCII
        (rb"\pL+", "né1".encode(), "<né>1".encode()),
        (rb"\p{Greek}", "aβ".encode(), "a<β>".encode()),
        (rb"[[:upper:]]", b"aB", b"a<B>"),
        (rb"\Qa.b\E+", b"a.bb axb", b"<a.bb> axb"),
        (rb".", b"a\xffb", b"<a>\xff<b>"),  # what is not UTF-8 matches nothing
        (rb"\x{41}\101", b"AA", b"<AA>"),
    ],
)
def test_matches(pattern, text, expected):
    assert replace(pattern, text) == expected


def test_rewrite():
    assert replace(rb"(a)(b)?", b"ab a", rb"[\2\1\\]") == b"[ba\\] [a\\]"
    assert replace(rb"(a)", b"a", rb"\2") == b"a"  # no such group: left as it is


@pytest.mark.parametrize(
    "pattern, message",
    [
        (b"a**", "bad repetition operator: \\*\\*"),
        (b"a*+", "bad repetition operator"),
        (b"*a", "no argument for repetition operator: \\*"),
        (rb"\1", r"invalid escape sequence: \\1"),
        (b"(?=a)", r"invalid perl operator: \(\?="),
        (b"a{1001}", "invalid repetition size"),
        (b"[z-a]", "invalid character class range: z-a"),
        (rb"\p{Nothing}", "invalid character class range"),
        (b"(a", r"missing \)"),
        (b"a)", r"unexpected \)"),
        (b"[a", "missing ]"),
    ],
)
def test_refuses(pattern, message):
    with pytest.raises(re2.PatternError, match=message):
        re2.compile(pattern)
