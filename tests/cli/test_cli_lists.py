"""`ls` and `cost` over many runs, and one cost wherever a run's money is shown."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from command_line import Whorl

# Loops inside a list, a command, a call of a model outside of loops.
MIXED = """
whorl: 1
name: mixed
steps:
  all:
    each: [1, 2]
    at_once: 2
    steps:
      polish:
        repeat:
          until: "false"
          at_most: 2
          steps:
            write: {ask: "Write {{ item }}"}
            note: {run: ["true"]}
  outer:
    repeat:
      at_most: 2
      steps:
        inner: {repeat: {at_most: 1, steps: {w: {ask: "Write it"}}}}
  report: {ask: "Report"}
"""


@pytest.fixture
def mixed(project: Path) -> Path:
    (project / "mixed.yaml").write_text(MIXED)
    with (project / "whorl.toml").open("a") as config:
        config.write("[allow]\ncommands = true\n")
    return project


def ids(whorl: Whorl, *words: str) -> list[str]:
    return [row["run"] for row in whorl("ls", *words, "--json").json]


def test_runs_are_listed_by_what_is_asked(whorl: Whorl, mixed: Path) -> None:
    polish = whorl("run", "polish.yaml", "a harbour", "--json").json["run"]
    cut = whorl("run", "polish.yaml", "a hill", "--max-iterations", "1", "--json").json["run"]
    gated = whorl("run", "gated.yaml", "--json").json["run"]

    assert ids(whorl, "HARBOUR") == [polish]
    assert ids(whorl, "a h") == [cut, polish]
    assert ids(whorl, "--exit", "max_iterations") == [cut] == ids(whorl, "--exit", "limit")
    assert ids(whorl, "--exit", "condition_met") == [polish]
    assert ids(whorl, "--sort", "cost") == [polish, cut, gated]
    assert ids(whorl, "--sort", "started", "--reverse") == [polish, cut, gated]
    assert ids(whorl, "--since", "1h", "-n", "1") == [gated]
    assert ids(whorl, "--until", "1h") == []
    tomorrow = time.strftime("%Y-%m-%d", time.localtime(time.time() + 86_400))
    assert (ids(whorl, "--since", tomorrow), len(ids(whorl, "--until", tomorrow))) == ([], 3)
    cost = whorl("ls", "harbour", "--json").json[0]["cost_usd"]
    assert ids(whorl, "--min-cost", str(cost * 0.999)) == [polish]
    assert ids(whorl, "--max-cost", str(cost * 0.999), "--status", "waiting") == [gated]


def test_columns_are_chosen(whorl: Whorl, mixed: Path) -> None:
    whorl("run", "polish.yaml", "a harbour")
    lines = whorl("ls", "--columns", "input,calls,time,cost,status").out.splitlines()

    assert lines[0].split() == ["INPUT", "CALLS", "TIME", "COST", "STATUS"]
    assert lines[1].startswith("a harbour")
    assert lines[1].endswith("✓ succeeded")
    done = whorl("ls", "--columns", "inptu")
    assert "did you mean 'input'?" in done.err
    assert "is not a time" in whorl("ls", "--since", "yesterday").err


def test_of_the_loops_of_a_list_none_speaks_for_the_others(whorl: Whorl, project: Path) -> None:
    (project / "two.yaml").write_text(
        "whorl: 1\nsteps: {all: {each: [1, 2, 3], steps: {l: "
        '{repeat: {until: "item > 1", at_most: 2, steps: {a: {value: 1}}}}}}}\n'
    )
    whorl("run", "two.yaml")
    row = whorl("ls").out.splitlines()[1]

    assert "3 loops" in row
    assert "2 met, 1 limit" in row


def test_costs_are_added_up_since_a_time(whorl: Whorl, mixed: Path) -> None:
    whorl("run", "polish.yaml", "x")
    whorl("run", "mixed.yaml")

    told = whorl("cost", "--since", "7d", "--by", "workflow", "--json").json
    assert {line["name"] for line in told["lines"]} == {"polish", "mixed"}
    assert (told["runs"], told["total"]["calls"], told["total"]["model_calls"]) == (2, 18, 14)
    for by in ("model", "day", "loop", "step", "iteration", "run"):
        total = whorl("cost", "--since", "7d", "--by", by, "--json").json["total"]
        assert total == pytest.approx(told["total"])
    later = time.strftime("%Y-%m-%d", time.localtime(time.time() + 172_800))
    assert whorl("cost", "--since", later, "--json").json["lines"] == []
    text = whorl("cost", "--by", "model").out
    assert text.splitlines()[0].split()[:5] == ["MODEL", "MODEL", "CALLS", "OTHER", "CALLS"]
    assert "2 runs, 14 model calls, 4 other calls" in text


def test_model_calls_are_told_from_others(whorl: Whorl, mixed: Path) -> None:
    assert "  7 model calls, " in whorl("run", "polish.yaml", "x").err
    assert "  7 model calls, 4 other calls, " in whorl("run", "mixed.yaml").err
    (mixed / "only.yaml").write_text('whorl: 1\nsteps: {a: {run: ["true"]}}\n')
    assert "  1 call without a model  " in whorl("run", "only.yaml").err


def prices(whorl: Whorl, run: str) -> dict[str, float]:
    """What a run cost, wherever it is said."""
    result: dict[str, Any] = whorl("show", run, "--json").json
    row = next(row for row in whorl("ls", "--json", "-n", "99").json if row["run"] == run)
    found = {"show": result["usage"]["cost_usd"], "ls": row["cost_usd"]}
    found["status"] = whorl("status", run, "--json").json["usage"]["cost_usd"]
    for by in ("model", "workflow", "day", "loop", "run", "step", "iteration"):
        found[by] = whorl("cost", run, "--by", by, "--json").json["total"]["cost_usd"]
    lines = whorl("cost", "--by", "run", "--json").json["lines"]
    found["cost of all"] = {line["name"]: line["cost_usd"] for line in lines}.get(run, 0.0)
    return found


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "steps",
    [
        [("run", "polish.yaml", "x")],
        [("run", "mixed.yaml")],
        [("run", "failing.yaml")],
        [("run", "gated.yaml")],
        [("run", "gated.yaml"), ("cancel", "last")],
        [("run", "gated.yaml"), ("approve", "last")],
        [("run", "mixed.yaml", "--budget", "0.1032")],
        [("run", "mixed.yaml", "--budget", "0.1032"), ("cancel", "last")],
        [("run", "polish.yaml", "x", "--max-iterations", "1"), ("continue", "last", "-n", "1")],
        [("run", "polish.yaml", "x"), ("fork", "last", "--at", "polish[2]")],
    ],
    ids=lambda steps: " then ".join(step[0] for step in steps),
)
def test_one_cost_everywhere(whorl: Whorl, mixed: Path, steps: list[tuple[str, ...]]) -> None:
    for step in steps:
        whorl(*step)
    run = whorl("ls", "--json").json[0]["run"]
    found = prices(whorl, run)

    assert found["ls"] > 0
    assert found == {name: pytest.approx(found["ls"]) for name in found}
    for loop in whorl("show", run, "--json").json["loops"]:
        at = whorl("cost", run, "--at", loop["path"], "--json").json["total"]
        if steps[-1][0] != "fork":
            assert loop["usage"]["cost_usd"] == pytest.approx(at["cost_usd"]), loop["path"]
            assert loop["usage"]["calls"] == at["calls"], loop["path"]


def test_nothing_that_cost_is_shown_as_nothing(whorl: Whorl, mixed: Path) -> None:
    with (mixed / "whorl.toml").open("a") as config:
        config.write("[prices.tiny]\ninput = 0.001\noutput = 0.001\n")
    (mixed / "tiny.yaml").write_text('whorl: 1\nsteps: {a: {ask: "Write", model: tiny}}\n')
    said = whorl("run", "tiny.yaml").err
    shown = [
        whorl(*words).out for words in (("show",), ("ls",), ("cost",), ("cost", "--by", "day"))
    ]

    for text in (said, *shown):
        assert "$0.00 " not in text
        assert "$0.00\n" not in text
        assert "<$0.000001" in text


def test_a_limit_that_a_loop_has_passed_is_warned_of_no_longer(whorl: Whorl) -> None:
    def warned() -> list[str]:
        return [each["message"] for each in whorl("show", "--json").json["warnings"]]

    whorl("run", "polish.yaml", "x", "--max-iterations", "1")
    assert ["limit of 1" in message for message in warned()] == [True]
    whorl("continue", "last", "-n", "1")
    assert ["limit of 2" in message for message in warned()] == [True]
    whorl("accept", "last", "-n", "1")
    assert warned() == []


def test_scripted_replies_are_told_of_only_where_no_model_is_asked(
    whorl: Whorl, project: Path
) -> None:
    with (project / "whorl.toml").open("a") as config:
        config.write('[providers.real]\nkind = "openai"\nbase_url = "http://127.0.0.1:9/v1"\n')
        config.write('model = "m"\napi_key = "none"\n')
    steps = 'a: {ask: "Write"}, b: {ask: "Write", model: real/m, retry: 0}'
    (project / "both.yaml").write_text(f"whorl: 1\nsteps: {{{steps}}}\n")

    assert "the replies are scripted (provider 'canned')" in whorl("run", "gated.yaml").err
    assert "scripted" not in whorl("run", "both.yaml").err


def test_runs_are_labelled_and_listed_by_labels(whorl: Whorl, project: Path) -> None:
    red = whorl("run", "polish.yaml", "a", "--label", "team=red", "--label", "n=1", "--json").json
    whorl("run", "polish.yaml", "b", "--label", "team=blue", "--json")

    assert ids(whorl, "--label", "team=red") == [red["run"]]
    assert ids(whorl, "--label", "team=red", "--label", "n=2") == []
    (row,) = whorl("ls", "--label", "n=1", "--json").json
    assert row["labels"] == {"n": "1", "team": "red"}
    shown = whorl("ls", "--columns", "run,labels", "--label", "n=1")
    assert "n=1, team=red" in shown.out


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ("team", "takes NAME=VALUE"),
        ("team=", "has 1 to 200 characters"),
        ("a b=c", "is not a name for a label"),
        ("experiment=mine", "is only for runs of experiments"),
    ],
)
def test_what_is_no_label_is_refused_and_no_run_is_made(
    whorl: Whorl, project: Path, label: str, words: str
) -> None:
    refused = whorl("run", "polish.yaml", "a", "--label", label)

    assert refused.code == 2
    assert words in refused.err
    assert ids(whorl) == []
