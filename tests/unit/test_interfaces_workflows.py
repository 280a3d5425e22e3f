"""Pictures, forecasts and invented answers of workflows, and which files are found."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from whorl.dialects import read_workflow
from whorl.interfaces.diagrams.text import mermaid, text_tree
from whorl.interfaces.status_words import forecast_words
from whorl.ir import Block, Task, Workflow
from whorl.providers.registry import Providers
from whorl.providers.settings.sections import settings_from
from whorl.services.files.forecasting import Forecast, forecast
from whorl.services.files.preflight import refusal
from whorl.services.project import DEPTH_MAX, Catalogue, find_project
from whorl.services.replay import invent

if TYPE_CHECKING:
    from pathlib import Path

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
            cases: {short: {a: {ask: "more", max_tokens: 10}}}
            default: {b: {wait: 1s}}
  done: {approve: {message: "Publish?"}}
"""
TABLE = {
    "providers": {"x": {"kind": "scripted"}},
    "defaults": {"provider": "x", "model": "m"},
    "prices": {"m": {"input": 0.0, "output": 1000.0}},
}


def _read(text: str) -> Workflow:
    return read_workflow(text, "demo.yaml", dialect="native").workflow


def _forecast(text: str, table: dict[str, Any] = TABLE, **options: Any) -> Forecast:
    return forecast(_read(text), Providers(settings_from(table, {})), **options)


def _words(steps: str, **options: Any) -> str:
    return forecast_words(_forecast(f"whorl: 1\n{steps}", **options))


def test_text_tree_shows_loops_and_branches() -> None:
    tree = text_tree(_read(FILE))

    assert "├─ ↻ polish  until judge: Good? or score ≥ 0.90, at most 4 iterations" in tree
    assert "│  └─ ? pick  choose" in tree
    assert "│     ├─ short:\n│     │  └─ a  ask" in tree
    assert "└─ done  asks a person" in tree


def test_mermaid_escapes_names_and_closes_its_boxes() -> None:
    chart = mermaid(_read(FILE)).splitlines()
    opened = sum(line.strip().startswith("subgraph") for line in chart)
    odd = mermaid(Workflow(name="odd", body=Block((Task(name='a"]; <b>#\n', kind="ask"),))))

    assert opened == sum(line.strip() == "end" for line in chart) == 4
    assert '["a#quot;]; #lt;b#gt;#35; <br/>' in odd


def test_forecast_says_at_most_only_where_something_bounds_the_cost() -> None:
    open_ended = _words("steps: {a: {ask: x}}")
    growing = _words('inputs: {t: string}\nsteps: {a: {ask: "{{ t }}", max_tokens: 1000}}')
    limited = _words("steps: {a: {ask: x, max_tokens: 1000, retry: 0}}")
    loop = "steps: {l: {repeat: {at_most: {iterations: 9, cost: 0.25}, steps: {a: {ask: x}}}}}"

    assert open_ended.endswith(", an estimate")
    assert growing.endswith(", an estimate")
    assert ", about $" in open_ended
    assert ", about $" in growing
    assert "at most $" in limited
    assert "estimate" not in limited
    assert _words(loop).endswith(", at most $0.25")
    bounded = _words("steps: {a: {ask: x}}", budget_usd=0.001)
    assert bounded.endswith("; at most $0.001, the budget")


@pytest.mark.parametrize(
    ("step", "allowed", "is_refused"),
    [
        ("{run: [make, test]}", False, True),
        ("{run: [make, test]}", True, False),
        ("{run: [make, test]}", ["make"], False),
        ('{ask: "Look", tools: [files]}', False, True),
        ('{ask: "Look", tools: [files]}', ["mcp-files"], False),
        ('{ask: "Look", tools: [web]}', False, False),
        ('{agent: claude, prompt: "Look"}', ["git"], True),
        ('{agent: claude, prompt: "Look"}', ["claude"], False),
        ('{agent: own, prompt: "Look"}', ["claude"], True),
        ('{agent: own, prompt: "Look"}', ["/opt/own"], False),
    ],
)
def test_commands_servers_and_agents_are_refused_before_anything_starts(
    step: str, allowed: bool | list[str], is_refused: bool
) -> None:
    text = f'whorl: 1\nsteps:\n  a: {{ask: "First"}}\n  b: {step}\n'
    table: dict[str, Any] = {
        "allow": {"commands": allowed},
        "mcp": {"files": {"command": ["mcp-files", "."]}, "web": {"url": "https://m.example/"}},
        "agents": {"own": {"kind": "text", "program": "/opt/own"}},
    }

    found = refusal(_read(text), settings_from(table, {}))

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


def test_text_tree_tells_all_limits_and_what_runs_together() -> None:
    text = """
whorl: 1
name: limited
steps:
  l:
    repeat:
      at_most: {iterations: 5, cost: 0.50, time: 10m, tokens: 2000}
      steps: {w: {ask: "w"}}
  both: {together: {a: {ask: "a"}, b: {ask: "b"}}}
  all: {each: "{{ [1] }}", steps: {c: {ask: "c"}}}
"""

    tree = text_tree(_read(text))

    assert "↻ l  at most 5 iterations, 10m00s, $0.50, 2,000 tokens" in tree
    assert "a  ask  (at once)" in tree
    assert "b  ask  (at once)" in tree
    assert "⇉ all" in tree


def test_workflows_are_found_below_the_folder_and_others_are_not(tmp_path: Path) -> None:
    deep = "/".join(["d"] * (DEPTH_MAX + 1))
    for name in ("a.yaml", "sub/b.yml", ".hidden/c.yaml", "node_modules/d.yaml", f"{deep}/e.yaml"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("whorl: 1\nname: x\nsteps: {a: {value: x}}\n")
    (tmp_path / "package.json").write_text('{"name": "page"}')
    (tmp_path / "broken.yaml").write_text("whorl: 1\nname: x\nsteps: {a: {asq: b}}\n")
    (tmp_path / "link.yaml").symlink_to(tmp_path / "a.yaml")
    os.mkfifo(tmp_path / "pipe.yaml")

    listed = Catalogue(find_project({}, folder=tmp_path)).listed()
    found = {one.file: one.errors for one in listed}

    assert found == {"a.yaml": 0, "broken.yaml": 1, "sub/b.yml": 0}
