"""Figures and words as people read them."""

from __future__ import annotations

import json
from math import nextafter
from typing import TYPE_CHECKING, Any

import pytest

from whorl.interfaces import formatting
from whorl.interfaces.advice import advice, flags
from whorl.interfaces.cli.terminal import json_text
from whorl.interfaces.status_words import fact_words, verdict_words

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize(
    ("figure", "rows"),
    [
        (formatting.seconds, {0.04: "0.0s", 3.14: "3.1s", 9.96: "10s", 59.4: "59s", 59.6: "1m00s",
                           152: "2m32s", 3_900: "1h05m", 273_600: "3d4h"}),
        (formatting.dollars, {0: "$0.00", 1234.5: "$1,234.50", 0.1: "$0.10", 0.0437: "$0.0437",
                           0.001: "$0.001", 0.0031: "$0.0031", 0.05: "$0.05", 0.0002: "$0.0002",
                           0.00036748: "$0.00037", 0.0000367: "$0.000037", 1e-9: "<$0.000001"}),
        (formatting.count, {812: "812", 8_230: "8.2k", 123_456: "123k", 1_300_000: "1.3M"}),
        # A score is never shown rounder than it is.
        (formatting.score, {None: "", 0.9: "0.90", 0.912: "0.912", 87.0: "87", 0.89996: "0.89996",
                         0.00001: "0.00001", 0.0: "0.00", 0.899: "0.899", 0.99748: "0.99748",
                         0.9 - 1e-12: "0.899999999999", 86.9999: "86.9999", 1 / 3: "0.3333",
                         0.1 + 0.2: "0.30"}),
        # Budgets have all their digits.
        (formatting.allowed, {0.5: "$0.50", 0.003: "$0.003", 0.00025: "$0.00025",
                           1_234.5: "$1,234.50", 1.005: "$1.005"}),
    ],
    ids=lambda part: getattr(part, "__name__", ""),
)  # fmt: skip
def test_figures(figure: Callable[[Any], str], rows: dict[Any, str]) -> None:
    assert {amount: figure(amount) for amount in rows} == rows


@pytest.mark.parametrize(
    ("amount", "words"), [(0.02985, "$0.0299"), (0.125, "$0.13"), (0.00025, "$0.00025")]
)
def test_the_same_amount_is_written_alike_however_it_was_added_up(
    amount: float, words: str
) -> None:
    added = [nextafter(amount, 0), amount, nextafter(amount, 1), amount - 1e-13, amount + 1e-13]

    assert {formatting.dollars(each) for each in added} == {words}


def test_line_is_one_safe_line_of_bounded_length() -> None:
    assert formatting.line("a\nb\x1b[2J\u202e  c") == "a b␛[2J� c"
    assert formatting.line("x" * 50, 10) == "xxxxxxxxx…"
    assert formatting.paragraphs("a\x07\r\nb") == "a␇\nb"
    # Wide characters are aligned.
    table = formatting.table([("漢字", "1"), ("ab", "22")], right=frozenset({1}))
    assert table == ["漢字   1", "ab    22"]


def test_fact_words() -> None:
    score = {"by": "score", "met": False, "score": 0.4, "at_least": 0.95}
    assert fact_words(score) == "score 0.40 < 0.95"
    assert fact_words(score | {"met": True, "score": 0.96}) == "score 0.96 ≥ 0.95"
    assert fact_words(score | {"met": None, "score": None}) == "no score"
    close = score | {"score": 0.94999}
    assert fact_words(close) == "score 0.94999 < 0.95"
    bounds = {"outside": 9.0, "low": 0.0, "high": 1.0}
    assert fact_words(score | bounds | {"met": None, "score": None}) == "score 9 is outside 0..1"
    assert fact_words({"by": "stable", "met": False, "similarity": 0.9496}) == "94.96% alike"
    assert fact_words({"by": "judge", "met": None, "answer": ""}) == "judge: no clear answer"
    assert fact_words({"by": "stable", "met": True, "similarity": 0.97}) == "97% alike"
    met = {"met": True, "facts": [score, {"by": "plateau", "met": True, "stale": 2}]}
    assert verdict_words(met) == "2 iterations without a better score"  # type: ignore[arg-type]
    outside = met | {"outside": {"score": 85, "low": 0.5, "high": 1.0}}
    words = "2 iterations without a better score; score 85 is outside 0.5..1"
    assert verdict_words(outside, 100) == words  # type: ignore[arg-type]


def test_there_is_no_advice_without_facts_and_flags_give_at_least_what_is_missing() -> None:
    assert advice("R102", None) == ""
    assert advice("R100", {"path": "x"}) == ""
    amounts = flags({"calls": 2.2, "cost_usd": 0.0501, "tokens": 0})
    assert amounts == ["--budget", "+0.051", "--calls", "+3"]


@pytest.mark.parametrize(
    ("expression", "met", "words"),
    [
        ("review.approved", False, "review.approved is false"),
        ("'continue' is not true", False, "'continue' is not true: no"),
        ("x is defined", True, "x is defined: yes"),
    ],
)
def test_a_condition_that_is_a_sentence_is_answered(expression: str, met: bool, words: str) -> None:
    assert fact_words({"by": "expression", "expression": expression, "met": met}) == words


@pytest.mark.parametrize("indent", [None, 2])
def test_json_for_a_terminal_steers_none(indent: int | None) -> None:
    value = {"a\u009b31m": ["x\u202ey\n\t", "é日😀\x7f", "plain"]}

    text = json_text(value, indent)

    assert json.loads(text) == value
    assert not {"\u009b", "\u202e", "\x7f"} & {*text}
    assert "é日😀" in text
