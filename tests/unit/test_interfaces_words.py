"""Figures and words as people read them."""

from __future__ import annotations

import json
from math import nextafter
from typing import TYPE_CHECKING, Any

import pytest

from whorl.interfaces import formatting
from whorl.interfaces.advice import advice, flags
from whorl.interfaces.cli import summary
from whorl.interfaces.cli.terminal import json_text
from whorl.interfaces.status_words import condition_words, fact_words, target_of, verdict_words
from whorl.ir import AllOf, AnyOf, Constant, Expression, Judge, Plateau, Score, Stable, When

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


def test_the_change_of_a_score() -> None:
    rows = {(0.63, 0.41): "+.22", (0.58, 0.63): "-.05", (3.0, 1.5): "+1.50", (None, 1.0): ""}
    rows |= {(0.9, 0.9): "+.00", (0.94996, 0.94991): "+.00005"}
    assert {two: formatting.difference(*two) for two in rows} == rows


@pytest.mark.parametrize(
    ("amount", "words"), [(0.02985, "$0.0299"), (0.125, "$0.13"), (0.00025, "$0.00025")]
)
def test_the_same_amount_is_written_alike_however_it_was_added_up(
    amount: float, words: str
) -> None:
    added = [nextafter(amount, 0), amount, nextafter(amount, 1), amount - 1e-13, amount + 1e-13]

    assert {formatting.dollars(each) for each in added} == {words}


def test_sparkline() -> None:
    assert formatting.sparkline([0.0, None, 1.0]) == "▁ █"
    assert formatting.sparkline([0.5, 0.5]) == "██"
    assert formatting.sparkline([-1.0, 0.0]) == "▁█"
    assert formatting.sparkline([None]) == ""


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


def test_condition_words() -> None:
    text = Constant("")
    until = AnyOf(
        (
            When(Expression("jinja-expression", "review.ok")),
            AllOf((Score(text, at_least=0.9), Judge(Constant("Is it\ngood?"), text))),
            Stable(text, 0.95),
            Plateau(2),
            Score(text),
        )
    )

    assert condition_words(until) == (
        "review.ok or score ≥ 0.90 and judge: Is it good? or 95% alike or no better score for 2"
    )
    assert target_of(until) == 0.9
    assert condition_words(None) == ""


LIMIT = {
    "address": "polish", "reason": "max_iterations", "limit": "", "of_run": False, "fields": None,
    "iterations": 3, "more": {}, "continues": True,
}  # fmt: skip


RAISE = "raise `at_most.iterations` or give `whorl run` a higher `--max-iterations`"
ENDED = {"continues": False}
CALLS = {"reason": "budget", "limit": "calls", "of_run": True, "continues": False}
COST = {"reason": "budget", "limit": "cost_usd", "iterations": 0, "more": {"cost_usd": 0.0123}}
GO_ON = "`whorl continue r1 --at 'polish' {}` continues it; for a new run, {}"


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({}, GO_ON.format("--iterations 3", RAISE)),
        (ENDED, RAISE),
        (
            ENDED | {"fields": {"max_iterations": "max_loops"}},
            RAISE.replace("at_most.iterations", "max_loops"),
        ),
        (ENDED | {"reason": "timeout"}, "raise `at_most.time`"),
        (CALLS, "raise `budget.calls`"),
        (CALLS | {"fields": {}}, "raise `budget.calls`"),
        (COST, GO_ON.format("--budget +0.013", "raise `at_most.cost`")),
    ],
)
def test_advice_about_a_limit_is_made_from_its_facts(facts: dict[str, object], words: str) -> None:
    assert advice("R102", LIMIT | facts, "r1") == words
    # Who passes it on may have a code of their own.
    assert advice("R100", LIMIT | facts | {"code": "R102"}, "r1") == words


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


def test_what_is_only_reserved_is_told_from_what_was_paid() -> None:
    usage = {"calls": 5, "model_calls": 3, "input_tokens": 10, "output_tokens": 0}
    paid = usage | {"cost_usd": 0.0031, "in_doubt": 0, "unpriced_calls": 1}

    assert summary.usage_words(paid) == ("5 calls, 10 tok, $0.0031, cost of 1 call not known")
    doubtful = paid | {"in_doubt": 2, "reserved_usd": 0.003}
    words = "10 tok, $0.0001, cost of 1 call not known, $0.003 reserved for 2 calls in doubt"
    assert words in summary.usage_words(doubtful)
    assert "cost of 1 call not known, 2 calls in doubt" in summary.usage_words(
        paid | {"in_doubt": 2}
    )
    assert summary.usage_words(usage | {"calls": 0}) == ""


@pytest.mark.parametrize("indent", [None, 2])
def test_json_for_a_terminal_steers_none(indent: int | None) -> None:
    value = {"a\u009b31m": ["x\u202ey\n\t", "é日😀\x7f", "plain"]}

    text = json_text(value, indent)

    assert json.loads(text) == value
    assert not {"\u009b", "\u202e", "\x7f"} & {*text}
    assert "é日😀" in text
