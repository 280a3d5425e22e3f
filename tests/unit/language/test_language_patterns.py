"""Authors' regular expressions: what they find, what they refuse, and that they are quiet."""

from __future__ import annotations

import pytest

from stopwatch import within
from whorl.language import LanguageError, LimitExceeded, pattern


def test_search_finds_groups() -> None:
    found = pattern(r"(?i)score:\s*([0-9.]+)(%)?").search("The Score: 8.5 of 10")

    assert found is not None
    assert found.group(0) == "Score: 8.5"
    assert found.group(1) == "8.5"
    assert found.groups == ("8.5", None)
    assert found.span == (4, 14)


def test_positions_count_characters() -> None:
    found = pattern("(?P<last>ü.)$").search("äöü😀")

    assert found is not None
    assert found.group("last") == "ü😀"
    assert found.span == (2, 4)


def test_options() -> None:
    assert pattern("x").search("abc") is None
    assert pattern("ABC", ignore_case=True).search("xabc") is not None
    assert pattern("a.b").search("a\nb") is None
    assert pattern("a.b", dot_matches_newline=True).search("a\nb") is not None


@pytest.mark.parametrize(
    ("source", "message"),
    [
        *(("a(?=b)", "uses look-ahead"), ("a(?!b)", "uses look-ahead")),
        *(("(?<=a)b", "uses look-behind"), ("(?<!a)b", "uses look-behind")),
        *((r"(a)\1", "uses a back-reference"), ("(?P<x>a)(?P=x)", "uses a back-reference")),
        *(("(?>a)", "uses an atomic group"), ("(a", "is not valid"), ("a**", "is not valid")),
        ("[z-a]", "is not valid"),
    ],
)
def test_what_re2_does_not_know_is_named(
    source: str, message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(LanguageError, match=message) as caught:
        pattern(source)

    assert caught.value.offset is not None
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    "source", ["a" * 5_000, "((a{100}){100}){100}", "(x{1000}){1,900}", "[ab]{0,999}" * 9]
)
def test_a_pattern_that_is_too_large_is_refused(source: str) -> None:
    with pytest.raises(LanguageError):
        pattern(source)


def test_a_text_that_is_too_long_is_refused() -> None:
    with pytest.raises(LimitExceeded):
        pattern("a").search("a" * 1_000_001)


def test_lone_surrogates_do_no_harm() -> None:
    found = pattern("b").search("a\ud800b")

    assert found is not None
    assert found.span == (2, 3)


@pytest.mark.parametrize(
    "source",
    ["(a+)+$", "(a|aa)+$", "(a|a?)+$", "(.*)*x", "(a*)*b", "([a-zA-Z]+)*9", "(?:a?){99}a{99}"],
)
def test_patterns_that_hang_others_answer_at_once(source: str) -> None:
    within(1, lambda: pattern(source).search("a" * 50_000 + "!"))


def test_a_group_that_does_not_exist_is_an_error() -> None:
    assert pattern("(a)") is pattern("(a)")
    found = pattern("(a)").search("a")

    assert found is not None
    with pytest.raises(LanguageError, match="no group 2"):
        found.group(2)
