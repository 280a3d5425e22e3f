"""Every kind of step of the native format, and the fields that all of them have."""

from __future__ import annotations

import pytest
from native_files import EVERYTHING, expression, read_step, template

from whorl import ir
from whorl.dialects import read_workflow


def inputs(task: ir.Task) -> dict[str | ir.Expression, ir.Value]:
    return dict(task.inputs.entries)


def value(given: object) -> ir.Value:
    """What is no value of a workflow is a constant."""
    is_value = isinstance(given, ir.Constant | ir.Expression | ir.Fields | ir.Items)
    return given if is_value else ir.Constant(given)  # type: ignore[return-value, arg-type]


def test_the_whole_format_is_read() -> None:
    workflow = read_workflow(EVERYTHING, "everything.yaml").workflow

    assert [node.name for node in workflow.body.nodes][:3] == ["plan", "code", "shell"]
    assert len(workflow.body.nodes) == 17
    assert ir.from_json(ir.to_json(workflow)) == workflow


TASKS: list[tuple[str, dict[str, object], dict[str, object]]] = [
    (
        '{ask: "Hi {{ x }}", model: [a/b, c/d], system: Be, temperature: 0.1, max_tokens: 5,'
        " tools: [search], session: talk}",
        {
            "prompt": template("Hi {{ x }}"),
            "model": ["a/b", "c/d"],
            "system": "Be",
            "temperature": 0.1,
            "max_tokens": 5,
            "tools": ["search"],
        },
        {"kind": "ask", "session": "talk", "place": "5:3"},
    ),
    (
        "{agent: codex, prompt: Go, folder: src, session: dev, returns: boolean}",
        {"agent": "codex", "prompt": "Go", "folder": "src"},
        {"kind": "agent", "session": "dev", "returns": {"type": "boolean"}},
    ),
    (
        '{run: [ls, "{{ x }}", -1], folder: src, env: {A: b}, stdin: in}',
        {
            "argv": ir.Items((value("ls"), template("{{ x }}"), value(-1))),
            "folder": "src",
            "env": {"A": "b"},
            "stdin": "in",
        },
        {"kind": "run"},
    ),
    (
        '{http: {method: PUT, url: "https://a/{{ x }}", headers: {A: b}, query: {q: "{{ x }}"},'
        ' body: {list: [1, "{{ x }}"], c: 2}}}',
        {
            "method": "PUT",
            "url": template("https://a/{{ x }}"),
            "headers": {"A": "b"},
            "query": ir.Fields((("q", template("{{ x }}")),)),
            "body": ir.Fields(
                (("list", ir.Items((value(1), template("{{ x }}")))), ("c", value(2)))
            ),
        },
        {"kind": "http"},
    ),
]


@pytest.mark.parametrize(("step", "given", "fields"), TASKS)
def test_tasks(step: str, given: dict[str, object], fields: dict[str, object]) -> None:
    task = read_step(step, ir.Task)

    assert inputs(task) == {name: value(each) for name, each in given.items()}
    assert {name: getattr(task, name) for name in fields} == fields


def closed(**fields: object) -> dict[str, object]:
    """The schema of an object with these fields, of which those with a `_` may be left out."""
    return {
        "type": "object",
        "properties": {name.rstrip("_"): field for name, field in fields.items()},
        "required": [name for name in fields if name[-1] != "_"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("returns", "schema"),
    [
        ("boolean", {"type": "boolean"}),
        ("[string]", {"type": "array", "items": {"type": "string"}}),
        (
            "{approved: boolean, note: string?, tags: [string]}",
            closed(
                approved={"type": "boolean"},
                note_={"type": "string"},
                tags={"type": "array", "items": {"type": "string"}},
            ),
        ),
        (
            "{kind: {enum: [a, b]}, score?: {type: number, minimum: 0}, in: {deep: any}}",
            closed(
                kind={"type": "string", "enum": ["a", "b"]},
                score_={"type": "number", "minimum": 0},
                **{"in": closed(deep={})},
            ),
        ),
        (
            "{type: string, description: string?}",
            closed(type={"type": "string"}, description_={"type": "string"}),
        ),
        (
            "{note: {type: 'string?', description: why}}",
            closed(note_={"type": "string", "description": "why"}),
        ),
        ("{type: string, description: why}", {"type": "string", "description": "why"}),
        ("{schema: {type: integer, minimum: 1}}", {"type": "integer", "minimum": 1}),
    ],
)
def test_returns_becomes_json_schema(returns: str, schema: object) -> None:
    assert read_step(f"{{ask: Hi, returns: {returns}}}", ir.Task).returns == schema


@pytest.mark.parametrize("on", ["y.kind", '"{{ y.kind }}"'])
def test_choose_on_a_value(on: str) -> None:
    cases = "{a: {s1: {value: 1}}, b: {steps: {s2: {value: 2}}}}"
    step = f"{{choose: {{on: {on}, cases: {cases}, default: {{s3: {{value: 3}}}}}}}}"
    branch = read_step(step, ir.Branch)

    assert isinstance(branch.subject, ir.Expression)
    assert "y.kind" in branch.subject.source
    assert [case.equals for case in branch.cases] == [value("a"), value("b")]
    assert branch.default is not None
    assert branch.default.name == "default"
    assert branch.default.body.nodes[0].name == "s3"


@pytest.mark.parametrize(
    "together",
    [
        "{together: {l: {value: 1}, r: {value: 2}, t: {value: 3, after: [l, r]}}}",
        "{together: {steps: {l: {value: 1}, r: {value: 2}, t: {value: 3, after: [l, r]}}}}",
    ],
)
def test_together_has_no_order_but_after(together: str) -> None:
    group = read_step(together, ir.Group)

    assert group.body.open
    assert [node.after for node in group.body.nodes] == [(), (), (ir.After("l"), ir.After("r"))]


FIELDS: list[tuple[str, str, object]] = [
    ('if: "{{ x }}"', "when", expression("{{ x }}")),
    ("retry: 0", "retry", ir.Retry(0)),
    ("retry: {times: 1, wait: 2m}", "retry", ir.Retry(1, wait_s=120.0, wait_max_s=120.0)),
    (
        "retry: {times: 1, wait_max: 10s, on: timeout}",
        "retry",
        ir.Retry(1, wait_max_s=10.0, on=("timeout",)),
    ),
    ("on_failure: {retry: 4}", "retry", ir.Retry(4, on=("*",))),
    ("on_failure: {retry: 0}", "retry", ir.Retry(0, on=("*",))),
]


@pytest.mark.parametrize(("written", "attribute", "expected"), FIELDS)
def test_fields_of_all_steps(written: str, attribute: str, expected: object) -> None:
    assert getattr(read_step(f"{{ask: Hi, {written}}}", ir.Task), attribute) == expected
