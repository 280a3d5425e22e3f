"""The top of a native file."""

from __future__ import annotations

import pytest
from native_files import read

from whorl import ir

STEPS = "steps: {a: {ask: Hi}}\n"


@pytest.mark.parametrize(
    ("written", "port"),
    [
        ("string", ir.Port("x", "string")),
        ("number?", ir.Port("x", "number", required=False)),
        ("file", ir.Port("x", "file")),
        ("{type: boolean, default: true}", ir.Port("x", "boolean", False, True)),
        ("{type: json, default: {a: [1]}}", ir.Port("x", "json", False, {"a": [1]})),
        ("{type: string, required: false}", ir.Port("x", "string", False)),
        ("{type: string?, description: d}", ir.Port("x", "string", False, None, "d")),
        ("{description: d}", ir.Port("x", "any", True, None, "d")),
        ("{type: number, default: 3}", ir.Port("x", "number", False, 3)),
    ],
)
def test_inputs(written: str, port: ir.Port) -> None:
    assert read(f"inputs: {{x: {written}}}\n{STEPS}").inputs == (port,)


@pytest.mark.parametrize(
    ("inputs", "main"),
    [
        ("{a1: number}", "a1"),
        ("{a1: number, b1: string, c1: string}", "b1"),
        ("{a1: number, b1: string?}", ""),
        ("{}", ""),
    ],
)
def test_main_input(inputs: str, main: str) -> None:
    assert read(f"inputs: {inputs}\n{STEPS}").main_input == main


def test_name_is_that_of_the_file_by_default() -> None:
    assert read(STEPS, "flows/my.flow.yaml").name == "my"
    assert read(f"name: other\n{STEPS}").name == "other"


def test_model_and_system_are_defaults() -> None:
    workflow = read(f'inputs: {{x: string}}\nmodel: a/b\nsystem: "Be {{{{ x }}}}"\n{STEPS}')

    assert workflow.defaults == (
        (
            "ask",
            ir.Fields(
                (
                    ("model", ir.Constant("a/b")),
                    ("system", ir.Expression("template", "Be {{ x }}")),
                )
            ),
        ),
        ("judge", ir.Fields((("model", ir.Constant("a/b")),))),
    )


@pytest.mark.parametrize(
    ("written", "limits"),
    [
        ("2.00", ir.RunLimits(2.0)),
        ("{cost: 1, tokens: 10k, calls: 5, time: 1h}", ir.RunLimits(1.0, 10_000, 5, 3_600.0)),
    ],
)
def test_budget(written: str, limits: ir.RunLimits) -> None:
    assert read(f"budget: {written}\n{STEPS}").limits == limits


def test_outputs_keep_their_order_and_may_be_objects() -> None:
    workflow = read(f'{STEPS}outputs: {{b: "{{{{ a }}}}", c-d: {{e: ["{{{{ a }}}}"]}}}}')
    value = ir.Expression("template", "{{ a }}")

    assert workflow.outputs == (("b", value), ("c-d", ir.Fields((("e", ir.Items((value,))),))))


@pytest.mark.parametrize(
    ("steps", "name", "source"),
    [
        ("{a: {ask: Hi}, b: {ask: Hi}}", "b", "b"),
        ("{a: {ask: Hi}, w: {wait: 1s}, s: {set: {v: 1}}}", "a", "a"),
        ("{a-b: {ask: Hi}}", "a-b", "{{ a-b }}"),
        ("{s: {set: {v: 1}}}", "s", "s"),
    ],
)
def test_the_last_result_is_the_output_by_default(steps: str, name: str, source: str) -> None:
    outputs = read(f"steps: {steps}").outputs

    assert [(key, value.source) for key, value in outputs if isinstance(value, ir.Expression)] == [
        (name, source)
    ]


def test_json_is_read_as_well() -> None:
    from whorl.dialects import read_workflow

    text = '{"whorl": 1, "steps": {"a": {"ask": "Hi"}}}'

    assert read_workflow(text, "a.json").workflow == read_workflow(text, "a").workflow
