"""What files become: models, tools, judges, time limits, words; and which files are claimed."""

from __future__ import annotations

from typing import Any

import pytest
from mcp_cli_files import HEAD, Memory, read

from whorl import ir
from whorl.dialects import read_workflow
from whorl.errors import InvalidWorkflow
from whorl.formats.mcp_cli.reader import McpCliReader
from whorl.providers.asking import judgement_of
from whorl.providers.task import Request
from whorl.source.json import read_json
from whorl.source.yaml import read_yaml


def inputs_of(workflow: ir.Workflow, name: str) -> dict[str, object]:
    node = next(node for node in workflow.body.nodes if node.name == name)
    assert isinstance(node, ir.Task)
    return {
        str(key): value.value
        for key, value in node.inputs.entries
        if isinstance(value, ir.Constant)
    }


def one_step(fields: str, execution: str = "") -> dict[str, object]:
    head = HEAD.replace("{provider: a, model: b}", f"{{{execution}}}") if execution else HEAD
    reading = read(f'{head}steps:\n  - {{name: s, run: "Go"{fields}}}\n')
    return inputs_of(reading.workflow, "s")


LISTED = "providers: [{provider: x, model: m}, {provider: y}]"
MODELS = [{"provider": "x", "model": "m"}, {"provider": "y"}]
WARM = "temperature: 0.5, max_tokens: 300"
SERVED = "servers: [filesystem, search]"


@pytest.mark.parametrize(
    ("fields", "execution", "expected"),
    [
        ("", "", {"prompt": "Go", "provider": "a", "model": "b"}),
        (", model: c", "", {"provider": "a", "model": "c"}),
        # Another provider does not get the model of the first; several are tried in order.
        (", provider: z", "", {"provider": "z", "model": None}),
        ("", LISTED, {"model": MODELS}),
        (f", {LISTED}", "", {"model": MODELS}),
        ("", WARM, {"prompt": "Go", "temperature": 0.5, "max_tokens": 300, "model": None}),
        (", temperature: 0", WARM, {"temperature": 0}),
        # Servers are tools with a limit.
        (", max_iterations: 4", SERVED, {"tools": ["filesystem", "search"], "max_turns": 4}),
        (", servers: []", SERVED, {"tools": None}),
    ],
)
def test_what_a_step_asks_and_whom(
    fields: str, execution: str, expected: dict[str, object]
) -> None:
    inputs = one_step(fields, execution)

    assert {name: inputs.get(name) for name in expected} == expected


def test_skills_of_the_file_or_of_the_step_are_told_to_the_model() -> None:
    skill = "---\nname: {0}\ndescription: About {0}.\n---\nUse {0} well.\n"
    files = {
        "config/skills/docx/SKILL.md": skill.format("docx"),
        "pdf/SKILL.md": skill.format("pdf"),
    }
    text = HEAD.replace("model: b", "model: b, skills: [docx], servers: [skills, notes]") + (
        "steps:\n  - {name: a, run: A}\n  - {name: b, run: B, skills: [pdf]}\n"
        "  - {name: c, run: C, skills: []}\n"
    )
    a, b, c = (dict(node.inputs.entries) for node in nodes(text, files))

    told = "You have these skills; use what fits.\n\n## docx\n" + skill.format("docx").strip()
    assert a["system"] == ir.Constant(told)
    assert a["tools"] == ir.Constant(["notes"])
    assert "## pdf" in str(b["system"])
    assert "system" not in c


def nodes(text: str, files: dict[str, str]) -> list[ir.Task]:
    found = read(text, files, complete=False).workflow.body.nodes
    return [node for node in found if isinstance(node, ir.Task)]


def loop_of(fields: str, files: dict[str, str] | None = None) -> ir.Loop:
    text = f"{HEAD}loops:\n  - {{name: l, workflow: w, max_iterations: 3, until: done{fields}}}\n"
    node = read(text, files).workflow.body.nodes[0]
    assert isinstance(node, ir.Loop)
    return node


def test_the_judge_is_the_model_of_the_file_unless_another_is_configured() -> None:
    until = loop_of("").until
    assert isinstance(until, ir.Judge)

    defaults = ir.Fields((("defaults", ir.Constant({"provider": "a", "model": "b"})),))
    assert (until.model, ir.to_json(until.inputs)) == ((), ir.to_json(defaults))


def test_the_judge_is_told_the_three_lines() -> None:
    inputs = {"question": "The output says PASS", "text": "FAIL"}
    conversation = judgement_of(Request(kind="judge", inputs=inputs, run="r", address="l[1]"))
    told = "\n".join(message.text for message in conversation.messages)

    assert 'Evaluate this condition: "The output says PASS"' in told
    assert "Output to evaluate:" in told
    assert "Answer with YES if condition is met, NO if not met." in told


def test_the_words_for_a_judgement_and_a_failure() -> None:
    words: Any = read(HEAD + "steps: [{name: a, run: A}]\n").workflow.words
    judgement = words["judgement"]
    line = str(judgement["line"]).format(question="It says DONE", verdict=judgement["met"])

    assert line == "[INFO] Condition evaluation: 'It says DONE' -> YES"
    assert words["exit_reasons"] == {"failed": "error"}


def test_what_nobody_reads_is_not_kept() -> None:
    reader = HEAD + 'steps:\n  - {name: a, run: "{{loop.history}}"}\n'
    plain = loop_of("")

    assert (plain.history_keep, plain.collect) == (0, ())
    assert loop_of(', with: {h: "{{loop.history}}"}').history_keep == 3
    assert loop_of("", {"w.yaml": reader}).history_keep == 3
    assert [one.name for one in loop_of(", accumulate: all").collect] == ["accumulator"]


def test_a_workflow_of_another_format_can_be_called() -> None:
    child = "whorl: 1\nname: child\ninputs: {topic: string}\nsteps: {a: {value: '{{ topic }}'}}\n"
    loop = HEAD + "loops: [{name: l, workflow: w, max_iterations: 3, until: d, with: {GIVEN: x}}]\n"
    good, files = loop.replace("GIVEN", "topic"), {"w.yaml": child}

    with pytest.raises(InvalidWorkflow):
        read(good, files)
    # Only the dialect that is asked for is known there; without one, every dialect is.
    node = read_workflow(good, "main.yaml", Memory(files)).workflow.body.nodes[0]
    assert isinstance(node, ir.Loop)
    call = node.body.nodes[0]
    assert isinstance(call, ir.Call)
    assert [name for name, _ in call.inputs.entries] == ["topic"]
    # What it does not take is reported.
    with pytest.raises(InvalidWorkflow) as caught:
        read_workflow(loop.replace("GIVEN", "t"), "main.yaml", Memory(files))
    assert sorted(d.code for d in caught.value.diagnostics) == ["W004", "W006"]


@pytest.mark.parametrize(
    ("text", "claimed"),
    [
        ("$schema: workflow/v2.0\n", True),
        ("execution: {}\nsteps: []\n", True),
        ("execution: {}\nsteps: {}\n", False),
        ("steps: []\n", False),
        ("$schema: https://example.org/x\nexecution: {}\nsteps: []\n", False),
    ],
)
def test_files_that_are_claimed(text: str, claimed: bool) -> None:
    assert McpCliReader().claims(read_yaml(text, "a.yaml")) is claimed


def test_json_is_read_too_and_a_repeated_key_is_a_mistake() -> None:
    good = '{"$schema": "workflow/v2.0", "name": "n", "steps": [{"name": "a", "run": "A"}]}'
    assert McpCliReader().claims(read_json(good, "a.json"))
    assert read_workflow(good, "a.json").workflow.name == "n"

    with pytest.raises(InvalidWorkflow) as caught:
        read_workflow(good.replace('"name": "n"', '"name": "n", "name": "m"'), "a.json")
    assert [d.code for d in caught.value.diagnostics] == ["W012"]


def test_a_run_must_be_given_what_loops_need() -> None:
    loop = '{name: l, workflow: w, with: {t: "{{topic}}"}, max_iterations: 3, until: d}'
    text = f"{HEAD}loops: [{loop}]\nsteps: [{{name: s, run: '{{{{tone}}}}'}}]\n"
    ports = {port.name: port for port in read(text).workflow.inputs}

    assert ports["topic"].required
    assert (ports["tone"].required, ports["tone"].default) == (False, "{{tone}}")
    assert (ports["input"].required, ports["input"].default) == (False, "")


WORK = f'{HEAD}steps:\n  - {{name: write, run: "Use {{{{requirements}}}}"}}\n'


@pytest.mark.parametrize(
    ("given", "code", "message", "advice"),
    [
        ("requirments: x", "W005",
         "there is no variable 'requirements' where step 'go' calls workflow 'main'",
         "did you mean 'requirments'?"),
        ("x: y", "W005", "there is no variable 'requirements'", "with: {requirements: ...}"),
        ("requirements: x, requirement: y", "W023",
         "step 'go' gives 'requirement' to workflow 'main', which never mentions it",
         "did you mean 'requirements'?"),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "caller",
    [
        HEAD + "steps: [{name: go, template: {name: work, with: {GIVEN}}}]",
        "whorl: 1\nsteps: {go: {call: work.yaml, with: {GIVEN}}}",
    ],
    ids=["mcp-cli", "native"],
)
def test_a_call_is_checked_against_what_the_called_file_mentions(
    caller: str, given: str, code: str, message: str, advice: str
) -> None:
    files = Memory({"work.yaml": WORK})
    warnings = read_workflow(caller.replace("GIVEN", given), "main.yaml", files).warnings

    [found] = [one for one in warnings if one.code == code]
    assert found.span is not None
    assert found.span.file == ("work.yaml" if code == "W005" else "main.yaml")
    assert message in found.message
    assert advice in found.help


def test_a_file_that_runs_by_itself_takes_its_names_from_outside() -> None:
    reading = read_workflow(WORK, "work.yaml", Memory({}))

    assert reading.warnings == ()
    assert [port.name for port in reading.workflow.inputs] == ["input", "requirements"]
