"""The fields of `repeat`: the loop."""

from __future__ import annotations

from whorl.dialects.native.format.forms import (
    Choice,
    Count,
    Duration,
    Field,
    ListOf,
    MapOf,
    Number,
    Object,
    OneOf,
    Ref,
    Text,
    Truth,
)
from whorl.dialects.native.format.pieces import (
    COST,
    EXPRESSION,
    MODEL,
    MODEL_DOC,
    ON_FAILURE,
    STEPS,
    TEMPLATE,
    VALUE,
)
from whorl.ir.nodes import ITERATIONS_MAX

CONDITION = Ref("condition", "a condition")
TAKES = ("last", "best", "first", "all")
_OF = Field(
    Text("a step of the body, or a text with {{ }}"), "what it reads; default: the last step"
)
_SCORE = Object(
    "score",
    {
        "from": Field(OneOf((Text("an expression or a text with {{ }}"), Number())), "the number"),
        "pattern": Field(
            Text("a regular expression with a group in parentheses"),
            "the first group of its first match in the text is the score",
        ),
        "of": _OF,
        "at_least": Field(Number(), "the loop stops at this score; without it, it only measures"),
        "low": Field(Number(), "a lower score never counts"),
        "high": Field(Number(), "a higher score never counts"),
    },
)
_JUDGE = OneOf(
    (
        Text("a statement that a model answers with yes or no"),
        Object(
            "judge",
            {
                "question": Field(TEMPLATE, "a model answers yes or no to it", required=True),
                "model": Field(MODEL, MODEL_DOC),
                "votes": Field(Number(1, 99, whole=True), "how many answers; the majority counts"),
                "of": _OF,
            },
        ),
    )
)
_STABLE = OneOf(
    (
        Number(0, 1),
        Object(
            "stable",
            {
                "threshold": Field(Number(0, 1), "how much alike, from 0 to 1; default 0.95"),
                "of": _OF,
            },
        ),
    )
)
_PLATEAU = OneOf(
    (
        Number(1, ITERATIONS_MAX, whole=True),
        Object(
            "plateau",
            {
                "patience": Field(
                    Number(1, ITERATIONS_MAX, whole=True), "iterations without a better score", True
                ),
                "min_delta": Field(Number(0), "a gain up to this counts as none; default 0"),
            },
        ),
    )
)
_CASE = OneOf((Text("the name of a case"), Truth(), Number()))
CONDITION_FIELDS = {
    "when": Field(EXPRESSION, "met when the expression is true"),
    "score": Field(_SCORE, "measures the iteration, and is met at `at_least`"),
    "judge": Field(_JUDGE, "a model answers yes or no"),
    "stable": Field(_STABLE, "two results in a row are this much alike"),
    "plateau": Field(_PLATEAU, "no better score for some iterations"),
    "branch": Field(
        MapOf(_CASE, "a step and a case, such as {triage: done}", "any", least=1),
        "the branch that a `choose` or `if` step took",
    ),
    "any": Field(ListOf(CONDITION, least=1), "one of these is met"),
    "all": Field(ListOf(CONDITION, least=1), "all of these are met"),
}
CONDITION_FORM = OneOf(
    (
        EXPRESSION,
        ListOf(CONDITION, least=1),
        Object("condition", CONDITION_FIELDS, exactly_one=True),
    )
)
_ITERATIONS = Number(1, ITERATIONS_MAX, whole=True, template=True, code="W015")
_AT_MOST = OneOf(
    (
        _ITERATIONS,
        Object(
            "at_most",
            {
                "iterations": Field(_ITERATIONS, "default 10"),
                "time": Field(Duration(template=True), "of the whole loop"),
                "each_time": Field(Duration(), "of one iteration"),
                "cost": Field(COST, "dollars"),
                "tokens": Field(Count(), "tokens, read and written"),
                "calls": Field(
                    Count(), "calls of models, agents, commands, web services and tasks"
                ),
            },
        ),
    )
)
REPEAT = Object(
    "repeat",
    {
        "until": Field(
            CONDITION, "when it stops: a condition, or a list of which any one stops it"
        ),
        "check": Field(Choice(("after", "before")), "when the condition is looked at"),
        "at_most": Field(_AT_MOST, "iterations, or {iterations, time, each_time, cost, tokens}"),
        "on_limit": Field(
            Choice(("finish", "fail", "pause")), "at a limit: finish (default), fail, or ask"
        ),
        "carry": Field(
            MapOf(VALUE, "names with values, such as {feedback: '{{ review.feedback }}'}"),
            "names that the next iteration sees; {first, then} tells the first one apart",
        ),
        "return": Field(Choice(TAKES), "the iteration that is the result; default: the last"),
        "on_failure": Field(ON_FAILURE, "of an iteration: halt (default), continue, {retry: n}"),
        "wait": Field(Duration(template=True), "between iterations"),
        "ask_person": Field(Choice(("never", "each", "at_limit")), "when a person decides"),
        "collect": Field(
            MapOf(
                VALUE, "names with {all: ...}, {first: ...}, {last: ...} or {best: ...}", "dashed"
            ),
            "named results beside the returned iteration",
        ),
        "memory": Field(
            Object(
                "memory",
                {
                    "keep": Field(Number(1, 10_000, whole=True), "how many records; default 20"),
                    "across_runs": Field(Truth(), "whether later runs see them, too"),
                    "record": Field(
                        MapOf(VALUE, "names with values", "any"), "what is kept of an iteration"
                    ),
                    "key": Field(Text("a name"), "loops with the same key share their records"),
                },
            ),
            "records of past iterations, seen as `past`",
        ),
        "session": Field(
            Choice(("fresh", "continue")),
            "whether conversations with agents and models go on over iterations",
        ),
        "steps": Field(STEPS, "what is repeated", required=True),
    },
)
