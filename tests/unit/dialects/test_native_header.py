"""The top of a native file."""

from __future__ import annotations

import pytest
from native_files import read, template

from whorl import ir

STEPS = "steps: {a: {ask: Hi}}\n"
MODEL = ir.Constant("a/b")


HEADS: list[tuple[str, str, object]] = [
    *(
        (f"inputs: {{x: {written}}}", "inputs", (port,))
        for written, port in (
            ("string", ir.Port("x", "string")),
            ("number?", ir.Port("x", "number", required=False)),
            ("{type: boolean, default: true}", ir.Port("x", "boolean", False, True)),
            ("{type: json, default: {a: [1]}}", ir.Port("x", "json", False, {"a": [1]})),
            ("{type: string?, description: d}", ir.Port("x", "string", False, None, "d")),
            ("{description: d}", ir.Port("x", "any", True, None, "d")),
        )
    ),
    ("inputs: {a1: number}", "main_input", "a1"),
    ("inputs: {a1: number, b1: string, c1: string}", "main_input", "b1"),
    ("inputs: {a1: number, b1: string?}", "main_input", ""),
    *(("inputs: {}", "main_input", ""), ("name: other", "name", "other"), ("", "name", "my")),
    (
        'outputs: {b: "{{ a }}", c-d: {e: ["{{ a }}"]}}',
        "outputs",
        (
            ("b", template("{{ a }}")),
            ("c-d", ir.Fields((("e", ir.Items((template("{{ a }}"),))),))),
        ),
    ),
    (
        'inputs: {x: string}\nmodel: a/b\nsystem: "Be {{ x }}"',
        "defaults",
        (
            ("ask", ir.Fields((("model", MODEL), ("system", template("Be {{ x }}"))))),
            ("judge", ir.Fields((("model", MODEL),))),
        ),
    ),
]


@pytest.mark.parametrize(("head", "attribute", "expected"), HEADS)
def test_the_top_of_a_file(head: str, attribute: str, expected: object) -> None:
    workflow = read(f"{head}\n{STEPS}", "flows/my.flow.yaml")

    assert getattr(workflow, attribute) == expected


@pytest.mark.parametrize(
    ("steps", "name", "source"),
    [
        ("{a: {ask: Hi}, b: {ask: Hi}}", "b", "b"),
        ("{a: {ask: Hi}, w: {wait: 1s}, s: {set: {v: 1}}}", "a", "a"),
        *(("{a-b: {ask: Hi}}", "a-b", "{{ a-b }}"), ("{s: {set: {v: 1}}}", "s", "s")),
    ],
)
def test_the_last_result_is_the_output_by_default(steps: str, name: str, source: str) -> None:
    ((key, value),) = read(f"steps: {steps}").outputs

    assert isinstance(value, ir.Expression)
    assert (key, value.source) == (name, source)
