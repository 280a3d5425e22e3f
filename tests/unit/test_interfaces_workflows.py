"""Pictures, forecasts and invented answers of workflows."""

from __future__ import annotations

from typing import Any

import pytest

from whorl.dialects import read_workflow
from whorl.errors import UsageError
from whorl.interfaces.cli.view.picture import View, draw
from whorl.interfaces.diagram import mermaid, text_tree
from whorl.interfaces.inputs import add_main_text, read_values
from whorl.interfaces.preflight import check_models, forecast, forecast_words, refusal
from whorl.interfaces.progress import Progress
from whorl.interfaces.rehearsal import invent
from whorl.interpreter.events import Event
from whorl.ir import Block, Task, Workflow
from whorl.providers.registry import Providers
from whorl.providers.settings import settings_from

FILE = """
whorl: 1
name: demo
inputs: {task: string}
steps:
  plan: {value: "{{ task }}"}
  polish:
    repeat:
      until: [{judge: "Good?"}, {score: {from: "{{ w }}", at_least: 0.9}}]
      at_most: 4
      steps:
        w: {ask: "Write {{ task }}", max_tokens: 10}
        pick:
          choose:
            on: "{{ w }}"
            short: {a: {ask: "more", max_tokens: 10}}
            default: {b: {wait: 1s}}
  done: {approve: {message: "Publish?"}}
"""
TABLE = {
    "providers": {"x": {"kind": "scripted"}},
    "defaults": {"provider": "x", "model": "m"},
    "prices": {"m": {"input": 0.0, "output": 1000.0}},
}


def _workflow() -> Workflow:
    return read_workflow(FILE, "demo.yaml", dialect="native").workflow


def test_text_tree_shows_loops_and_branches() -> None:
    tree = text_tree(_workflow())

    assert "├─ ↻ polish  until judge: Good? or score ≥ 0.90, at most 4 iterations" in tree
    assert "│  └─ ? pick  choose" in tree
    assert "│     ├─ short:\n│     │  └─ a  ask" in tree
    assert "└─ done  asks a person" in tree


def test_mermaid_escapes_names_and_closes_its_boxes() -> None:
    chart = mermaid(_workflow()).splitlines()
    opened = sum(line.strip().startswith("subgraph") for line in chart)
    odd = mermaid(Workflow(name="odd", body=Block((Task(name='a"]; <b>#\n', kind="ask"),))))

    assert opened == sum(line.strip() == "end" for line in chart) == 4
    assert '["a#quot;]; #lt;b#gt;#35; <br/>' in odd


def test_forecast_counts_judges_and_costs() -> None:
    providers = Providers(settings_from(TABLE, {}))

    told = forecast(_workflow(), providers, budget_usd=2.0)

    # Each iteration: a step, the costlier branch, and a judge that may be asked twice.
    assert told.calls == 4 * (1 + 1 + 2)
    assert told.cost_usd is not None
    assert told.cost_usd > 0
    assert forecast_words(told).startswith("at most 16 calls, about $")
    assert forecast_words(told).endswith("; the budget is $2.00")
    assert forecast(_workflow(), providers, iterations=1).calls == 4


def test_missing_provider_is_found_before_the_run() -> None:
    text = FILE.replace("inputs:", "model: openai/gpt-5-mini\ninputs:")
    workflow = read_workflow(text, "demo.yaml", dialect="native").workflow

    with pytest.raises(UsageError, match="'openai' is not configured") as caught:
        check_models(workflow, Providers(settings_from({}, {})))

    assert caught.value.code == "P110"


@pytest.mark.parametrize(
    ("allowed", "is_refused"), [(False, True), (True, False), (["make"], False), (["ls"], True)]
)
def test_commands_need_leave(allowed: object, is_refused: bool) -> None:
    text = "whorl: 1\nsteps:\n  t: {run: [make, test]}\n"
    workflow = read_workflow(text, "t.yaml", dialect="native").workflow

    found = refusal(workflow, settings_from({"allow": {"commands": allowed}}, {}))

    assert (found is not None) == is_refused
    if found is not None:
        assert (found["code"], found["path"]) == ("R110", "t")


@pytest.mark.parametrize(
    ("step", "allowed", "is_refused"),
    [
        ('{ask: "Look", tools: [files]}', False, True),
        ('{ask: "Look", tools: [files/read]}', ["git"], True),
        ('{ask: "Look", tools: [files]}', ["mcp-files"], False),
        ('{ask: "Look", tools: [files]}', True, False),
        ('{ask: "Look", tools: [web]}', False, False),
        ('{ask: "Look"}', False, False),
        ('{agent: claude, prompt: "Look"}', False, True),
        ('{agent: claude, prompt: "Look"}', ["git"], True),
        ('{agent: claude, prompt: "Look"}', ["claude"], False),
        ('{agent: own, prompt: "Look"}', ["claude"], True),
        ('{agent: own, prompt: "Look"}', ["/opt/own"], False),
    ],
)
def test_servers_and_agents_that_are_programs_are_refused_before_anything_starts(
    step: str, allowed: bool | list[str], is_refused: bool
) -> None:
    text = f'whorl: 1\nsteps:\n  a: {{ask: "First"}}\n  b: {step}\n'
    workflow = read_workflow(text, "t.yaml", dialect="native").workflow
    table: dict[str, Any] = {
        "allow": {"commands": allowed},
        "mcp": {"files": {"command": ["mcp-files", "."]}, "web": {"url": "https://m.example/"}},
        "agents": {"own": {"kind": "text", "program": "/opt/own"}},
    }

    found = refusal(workflow, settings_from(table, {}))

    assert (found is not None) == is_refused
    if found is not None:
        assert (found["code"], found["path"]) == ("R110", "b")


def test_invented_values_fit_their_schema() -> None:
    schema = {
        "type": "object",
        "properties": {
            "kind": {"enum": ["a", "b"]},
            "ok": {"type": "boolean"},
            "score": {"type": "number", "minimum": 2, "maximum": 4},
            "many": {"type": "array", "items": {"type": "integer", "minimum": 7}},
            "maybe": {"type": ["null", "string"]},
            "one": {"anyOf": [{"type": "null"}, {"type": "string"}]},
        },
    }

    assert invent(schema) == {  # type: ignore[arg-type]
        "kind": "a",
        "ok": False,
        "score": 3.0,
        "many": [7],
        "maybe": "(invented maybe)",
        "one": None,
    }


def test_values_of_the_command_line() -> None:
    found = read_values(["a=1", "b:=[1, 2]", "c=x=y", "d=@-"], "-i", lambda: "in")

    assert found == {"a": "1", "b": [1, 2], "c": "x=y", "d": "in"}
    assert add_main_text(_workflow(), {}, "-", lambda: "in") == {"task": "in"}
    with pytest.raises(UsageError, match="takes no text"):
        add_main_text(Workflow(name="w", body=Block(())), {}, "x", str)


def test_picture_of_a_run() -> None:
    progress = Progress(run="r1", workflow="demo", budget_usd=1.0)
    events = [
        ("run.started", "", 0.5, {}),
        ("loop.started", "polish", 0.0, {"path": "polish", "limits": {"iterations": 4}}),
        ("iteration.started", "polish[1]", 0.0, {}),
        ("iteration.finished", "polish[1]", 38.0, {"status": "succeeded", "score": 0.4,
         "best": True, "seconds": 38.0, "usage": {"calls": 1, "input_tokens": 8200,
         "output_tokens": 0, "cost_usd": 0.11}}),
        ("iteration.started", "polish[2]", 38.0, {}),
        ("task.started", "polish[2]/w", 38.0, {"inputs": {"model": "gpt"}}),
    ]  # fmt: skip
    for kind, address, at, body in events:
        progress.take(Event(kind, address, at, body))  # type: ignore[arg-type]
    progress.stream("polish[2]/w", "the guard\x1b[2J is now")

    lines = [line.plain for line in draw(View(progress, _workflow(), now=40.0))]

    assert lines[0] == "● running demo  run r1  40s"
    assert lines[1].startswith("├── ↻ polish  iteration 2/4   until judge: Good? or score ≥ 0.90")
    assert lines[3].split() == ["│", "1", "0.40", "38s", "8.2k", "$0.11"]
    assert lines[4].split() == ["│", "2", "…", "2.0s", "w", "running"]
    assert '"the guard␛[2J is now…"' in lines[5]
    assert "gpt  2.0s" in lines[5]
    assert "○ pick" in lines[6]
    assert "○ done" in lines[7]
    assert "best 0.40 @1   target 0.90" in lines[9]
    assert lines[10].startswith("budget")
