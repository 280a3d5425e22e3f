"""Forms that many fields share."""

from __future__ import annotations

from whorl.dialects.native.format.forms import (
    Anything,
    Choice,
    Condition,
    Count,
    Duration,
    Field,
    ListOf,
    MapOf,
    Nothing,
    Number,
    Object,
    OneOf,
    Ref,
    Text,
    Truth,
)

NAME = Text("a name", needed=True)
TEMPLATE = Text("a text, which may hold {{ }}")
EXPRESSION = Condition()
VALUE = Anything("any value; its texts may hold {{ }}")
FLAG = OneOf((Truth(), Nothing()))
STEPS = Ref("steps", "steps by name")
BODY = Ref("body", "steps by name")
RETURNS = Ref("returns", "the fields of the answer, such as {approved: boolean, score: number}")
MODEL = OneOf((Text("a model such as openai/gpt-5-mini"), ListOf(Text("a model"), least=1)))
MODEL_DOC = "provider/model; a list is fail-over in order"
STATUSES = ("passed", "succeeded", "failed", "skipped", "timed_out", "cancelled", "any")
ON_FAILURE = OneOf(
    (
        Choice(("halt", "continue")),
        Object(
            "on_failure",
            {"retry": Field(Number(0, 100, whole=True), "how often it is tried again", True)},
        ),
    )
)
RETRY = OneOf(
    (
        Number(0, 100, whole=True),
        Object(
            "retry",
            {
                "times": Field(Number(0, 100, whole=True), "how often it is tried again", True),
                "wait": Field(Duration(), "before the first new try; default 1s"),
                "backoff": Field(Number(1, 100), "each wait is this much longer; default 2"),
                "wait_max": Field(Duration(), "the longest wait; default 60s"),
                "on": Field(
                    OneOf((Text("an error code, HTTP status or word"), ListOf(VALUE))),
                    "error codes, HTTP statuses or words such as timeout; '*' means every fault",
                ),
            },
        ),
    )
)
AFTER = OneOf(
    (
        Text("a step"),
        ListOf(Text("a step")),
        MapOf(
            OneOf((Choice(STATUSES), ListOf(Choice(STATUSES), least=1))),
            "an object such as {review: failed}",
            "any",
        ),
    )
)
COMMON = {
    "after": Field(AFTER, "the steps that it waits for, instead of the order of the file"),
    "if": Field(EXPRESSION, "the step is skipped where this is false"),
    "retry": Field(RETRY, "how often and when it is tried again after a failure"),
    "timeout": Field(Duration(), "the longest time that one attempt may take"),
    "on_failure": Field(ON_FAILURE, "halt (default), continue, or {retry: n}"),
    "description": Field(Text(), "for people"),
}
TOKENS = Count()
COST = Number(0, 1_000_000)
