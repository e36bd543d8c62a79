"""Shorthands of the text that is written by hand."""

from __future__ import annotations

from headrace.codegen.machine.text_words import expanded


def test_words_are_read_one_by_one():
    assert expanded("  %n, *%at = words(%entry, 5)\n") == (
        "  %n = call i64 @word(ptr %entry, i64 5)\n  %at = call ptr @pointer(ptr %entry, i64 6)\n"
    )


def test_words_are_stored_at_places_of_their_own():
    text = expanded("  words(%job, 1) = ptr %x, i64 0\n  words(%job, 1) = i64 %n\n")
    lines = text.splitlines()
    assert [line.split(" = ")[1] for line in lines if "getelementptr" in line] == [
        "getelementptr i64, ptr %job, i64 1",
        "getelementptr i64, ptr %job, i64 2",
        "getelementptr i64, ptr %job, i64 1",
    ]
    assert len({line.split(" = ")[0] for line in lines if "getelementptr" in line}) == 3
    assert [line.split(",")[0] for line in lines if "store" in line] == [
        "  store ptr %x",
        "  store i64 0",
        "  store i64 %n",
    ]


def test_other_text_stays():
    text = "  %p = getelementptr i64, ptr %words, i64 1\n  ret i64 2\n"
    assert expanded(text) == text
