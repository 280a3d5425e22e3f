"""The fields at the top of a native file."""

from __future__ import annotations

from whorl.dialects.native.format.forms import (
    Anything,
    Choice,
    Count,
    Duration,
    Field,
    MapOf,
    Number,
    Object,
    OneOf,
    Text,
    Truth,
)
from whorl.dialects.native.format.pieces import COST, MODEL, MODEL_DOC, STEPS, TEMPLATE, VALUE

TYPES = ("string", "number", "integer", "boolean", "json", "list", "file", "files", "any")

PORT = OneOf(
    (
        Choice(tuple(f"{word}{mark}" for word in TYPES for mark in ("", "?"))),
        Object(
            "input",
            {
                "type": Field(
                    Choice(tuple(f"{word}{mark}" for word in TYPES for mark in ("", "?"))),
                    "string, number, integer, boolean, json, list, file, files or any",
                ),
                "default": Field(Anything(), "the value if none is given"),
                "required": Field(Truth(), "whether it must be given"),
                "description": Field(Text(), "for people"),
            },
        ),
    )
)
BUDGET = OneOf(
    (
        COST,
        Object(
            "budget",
            {
                "cost": Field(COST, "dollars"),
                "tokens": Field(Count(), "tokens, read and written"),
                "calls": Field(Count(), "calls of models, tools, commands, services and tasks"),
                "time": Field(Duration(), "how long the run may take"),
            },
        ),
    )
)
HEADER = Object(
    "workflow",
    {
        "whorl": Field(Number(1, 1, whole=True), "the version of the format: 1", required=True),
        "name": Field(Text("a name"), "what it is called; default: the name of the file"),
        "description": Field(Text(), "for people"),
        "inputs": Field(
            MapOf(PORT, "inputs by name, such as {task: string}"),
            "what a run is given, by name; a ? behind the type makes it optional",
        ),
        "model": Field(MODEL, f"the default for all steps: {MODEL_DOC}"),
        "system": Field(TEMPLATE, "the default system prompt of all `ask` steps"),
        "budget": Field(BUDGET, "dollars for the whole run, or {cost, tokens, calls, time}"),
        "steps": Field(STEPS, "the steps by name, in this order", required=True),
        "outputs": Field(
            MapOf(VALUE, "outputs by name, such as {text: '{{ write }}'}", "dashed"),
            "what a run gives back, by name; default: the result of the last step",
        ),
    },
)
