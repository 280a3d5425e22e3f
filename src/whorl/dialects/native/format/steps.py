"""The kinds of steps and their fields: the table of the format's page, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whorl.dialects.native.format.forms import (
    Choice,
    Duration,
    Field,
    ListOf,
    MapOf,
    Moment,
    Number,
    Object,
    OneOf,
    Ref,
    Text,
    Truth,
)
from whorl.dialects.native.format.pieces import (
    BODY,
    COMMON,
    EXPRESSION,
    FLAG,
    MODEL,
    MODEL_DOC,
    NAME,
    RETURNS,
    STEPS,
    TEMPLATE,
    VALUE,
)
from whorl.dialects.native.format.repeat import REPEAT

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

_WITH = Field(MapOf(VALUE, "inputs by name", names="any"), "its inputs by name")
_RETURNS = Field(RETURNS, "a typed answer, which is checked; its fields are read as step.field")
_SESSION = Field(NAME, "steps with the same session continue one conversation")
_LIST = OneOf((Text("an expression that gives a list", needed=True), ListOf(VALUE)))
_TASK = {
    "delivery": Field(
        Choice(("at_least_once", "at_most_once", "ask")),
        "whether a call that a crash left in doubt is repeated, fails, or a person decides",
    ),
    "secure": Field(Truth(), "keeps what goes in and out of sight"),
}
_LOOP_NAME = OneOf((FLAG, Text("the name of a loop around the step")))


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of step: the field that says so, one line about it, and all its fields."""

    name: str
    doc: str
    own: Mapping[str, Field]

    @property
    def fields(self) -> dict[str, Field]:
        """The fields of its own and those that every step has."""
        return {**COMMON, **self.own}


_KINDS = (
    Kind(
        "ask",
        "asks a model",
        {
            "ask": Field(TEMPLATE, "the prompt", required=True),
            "system": Field(TEMPLATE, "the system prompt"),
            "model": Field(MODEL, MODEL_DOC),
            "returns": _RETURNS,
            "temperature": Field(Number(0, 10), "how freely the model chooses its words"),
            "max_tokens": Field(Number(1, 10_000_000, whole=True), "the longest answer"),
            "max_turns": Field(
                Number(1, 100, whole=True), "how often it may answer with tools in hand; default 10"
            ),
            "tools": Field(
                ListOf(Text("the name of an MCP server or task")),
                "MCP servers and tasks that the model may use, by name",
            ),
            "session": _SESSION,
            **_TASK,
        },
    ),
    Kind(
        "agent",
        "runs an agent command line",
        {
            "agent": Field(TEMPLATE, "claude-code, codex, gemini or a configured one", True),
            "prompt": Field(TEMPLATE, "what it is asked to do", required=True),
            "system": Field(TEMPLATE, "the system prompt"),
            "model": Field(MODEL, MODEL_DOC),
            "returns": _RETURNS,
            "folder": Field(TEMPLATE, "where it works, relative to the project"),
            "tools": Field(ListOf(Text("the name of a tool")), "tools that it may use"),
            "session": _SESSION,
            **_TASK,
        },
    ),
    Kind(
        "run",
        "runs a command, if the operator allows it; result: stdout, stderr, exit_code",
        {
            "run": Field(
                OneOf((Text("a text for the shell"), ListOf(VALUE, least=1))),
                "the command as a list, or a text for the shell",
                required=True,
            ),
            "folder": Field(TEMPLATE, "where it runs, relative to the project"),
            "env": Field(
                MapOf(VALUE, "variables by name", names="any"), "variables of its environment"
            ),
            "stdin": Field(VALUE, "what it reads from standard input"),
            "check": Field(
                Truth(),
                "whether an exit code other than 0 is a failure; by default it is, unless an "
                "expression of the file reads the step's exit_code",
            ),
            **_TASK,
        },
    ),
    Kind(
        "http",
        "calls a URL; result: status, headers, body",
        {
            "http": Field(
                OneOf(
                    (
                        Text("a URL"),
                        Object(
                            "http",
                            {
                                "method": Field(TEMPLATE, "default GET"),
                                "url": Field(TEMPLATE, "where", required=True),
                                "headers": Field(
                                    MapOf(VALUE, "headers by name", names="any"), "by name"
                                ),
                                "query": Field(
                                    MapOf(VALUE, "parameters by name", names="any"), "by name"
                                ),
                                "body": Field(VALUE, "a text, or a value that is sent as JSON"),
                                "accept_status": Field(
                                    VALUE, "statuses that are results, too: 404, 4xx, any"
                                ),
                            },
                        ),
                    )
                ),
                "a URL, or {method, url, headers, query, body}",
                required=True,
            ),
            **_TASK,
        },
    ),
    Kind(
        "use",
        "uses a task by name from the operator's configuration or a plugin",
        {
            "use": Field(NAME, "the name of the task", required=True),
            "with": _WITH,
            "returns": _RETURNS,
            **_TASK,
        },
    ),
    Kind(
        "call",
        "runs another workflow file, which sees nothing but `with`",
        {
            "call": Field(
                Text("a workflow file of the project", needed=True), "the file", required=True
            ),
            "with": _WITH,
        },
    ),
    Kind(
        "set",
        "sets variables of the run",
        {"set": Field(MapOf(VALUE, "variables with values"), "names with values", required=True)},
    ),
    Kind(
        "value",
        "computes a value",
        {"value": Field(VALUE, "any value; its texts may hold {{ }}", required=True)},
    ),
    Kind(
        "if",
        "takes one of two branches",
        {
            "if": Field(EXPRESSION, "the condition", required=True),
            "then": Field(BODY, "the steps if it is true", required=True),
            "else": Field(BODY, "the steps if it is false"),
        },
    ),
    Kind(
        "choose",
        "takes one of several branches",
        {
            "choose": Field(
                Ref("choose", "an object with on, cases and default"),
                "{on: expression, cases: {name: steps}, default: steps}",
                required=True,
            ),
        },
    ),
    Kind(
        "each",
        "runs its steps for each item of a list; result: the list of results in order",
        {
            "each": Field(_LIST, "the list", required=True),
            "as": Field(NAME, "what an item is called; default: item"),
            "index": Field(NAME, "what the item's number, from 0, is called"),
            "at_once": Field(Number(1, 10_000, whole=True), "how many side by side; default 1"),
            "steps": Field(STEPS, "what is done with each item", required=True),
        },
    ),
    Kind(
        "together",
        "runs its steps side by side",
        {
            "together": Field(OneOf((FLAG, BODY)), "the steps, or true beside `steps`", True),
            "steps": Field(STEPS, "the steps that run side by side"),
        },
    ),
    Kind("repeat", "the loop", {"repeat": Field(REPEAT, "how and what to repeat", required=True)}),
    Kind(
        "wait",
        "waits",
        {"wait": Field(Moment(), "5s, PT5S, or a time", required=True)},
    ),
    Kind(
        "approve",
        "asks a person; result: approved, feedback",
        {
            "approve": Field(
                OneOf(
                    (
                        TEMPLATE,
                        Object(
                            "approve",
                            {
                                "message": Field(TEMPLATE, "the question", required=True),
                                "show": Field(VALUE, "what the person looks at"),
                                "timeout": Field(Duration(), "how long to wait for an answer"),
                                "on_timeout": Field(
                                    Choice(("approve", "reject", "fail")), "default fail"
                                ),
                                "on_reject": Field(
                                    Choice(("result", "fail")),
                                    "whether a no is a result (default) or fails the step",
                                ),
                            },
                        ),
                    )
                ),
                "the question, or {message, show, timeout}",
                required=True,
            )
        },
    ),
    Kind(
        "stop",
        "ends the run",
        {
            "stop": Field(
                OneOf(
                    (
                        FLAG,
                        TEMPLATE,
                        Object(
                            "stop",
                            {
                                "status": Field(
                                    Choice(("succeeded", "failed", "cancelled")),
                                    "how the run ends; default succeeded",
                                ),
                                "message": Field(TEMPLATE, "why"),
                                "output": Field(VALUE, "what the run gives back"),
                            },
                        ),
                    )
                ),
                "true, a message, or {status, message, output}",
                required=True,
            )
        },
    ),
    Kind(
        "break",
        "ends a loop; the iteration counts",
        {"break": Field(_LOOP_NAME, "a loop around the step; true: the innermost", required=True)},
    ),
    Kind(
        "continue",
        "ends this iteration of a loop",
        {
            "continue": Field(
                _LOOP_NAME, "a loop around the step; true: the innermost", required=True
            )
        },
    ),
)
KINDS = {kind.name: kind for kind in _KINDS}
CHOOSE_FIELDS = {
    "on": Field(EXPRESSION, "its value, as a text, is the name of the case that is taken"),
    "cases": Field(
        MapOf(Ref("case", "the steps of the case"), "cases by name", names="any"),
        "the cases by name; without `on` each one has {if, steps}, and the first true one is taken",
    ),
    "default": Field(BODY, "the steps if no case fits"),
}
CASE = Object(
    "case",
    {
        "if": Field(EXPRESSION, "the case is taken where this is true"),
        "steps": Field(STEPS, "the steps of the case", required=True),
    },
)


def kinds_of(keys: Container[str]) -> list[str]:
    """The kinds that a step with these fields could be."""
    found = [name for name in KINDS if name in keys and name != "if"]
    # `if` alone is a field of every step; with `then` or `else` it is a step of its own.
    if "then" in keys or "else" in keys:
        found.append("if")
    return found
