"""Budgets and costs: advice that can be pasted, lists of runs, one cost wherever money is shown."""

from __future__ import annotations

import asyncio
import re
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from whorl.interpreter.events import Event
from whorl.runtimes.journal.journal import NewRun, RunId
from whorl.runtimes.sqlite import SqliteStore

if TYPE_CHECKING:
    from command_line import Done, Whorl

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
    assert ids(whorl, "--sort", "started") == [gated, cut, polish]
    assert ids(whorl, "--since", "1h", "-n", "1") == [gated]
    tomorrow = time.strftime("%Y-%m-%d", time.localtime(time.time() + 86_400))
    assert ids(whorl, "--since", tomorrow) == []


def test_costs_are_added_up_since_a_time(whorl: Whorl, mixed: Path) -> None:
    whorl("run", "polish.yaml", "x")
    whorl("run", "mixed.yaml")

    told = whorl("runs", "cost", "--since", "7d", "--by", "workflow", "--json").json
    assert {line["name"] for line in told["lines"]} == {"polish", "mixed"}
    assert (told["runs"], told["total"]["calls"], told["total"]["model_calls"]) == (2, 18, 14)
    for by in ("model", "day", "loop", "step", "iteration", "run"):
        total = whorl("runs", "cost", "--since", "7d", "--by", by, "--json").json["total"]
        assert total == pytest.approx(told["total"])
    later = time.strftime("%Y-%m-%d", time.localtime(time.time() + 172_800))
    assert whorl("runs", "cost", "--since", later, "--json").json["lines"] == []
    text = whorl("runs", "cost", "--by", "model").out
    assert " in 2 runs since " in text.splitlines()[0]
    assert text.splitlines()[1].split()[:5] == ["MODEL", "MODEL", "CALLS", "OTHER", "CALLS"]
    assert "14 model calls, 4 other calls" in text


def test_model_calls_are_distinguished_from_others(whorl: Whorl, mixed: Path) -> None:
    assert "  7 model calls, " in whorl("run", "polish.yaml", "x").err
    assert "  7 model calls, 4 other calls, " in whorl("run", "mixed.yaml").err
    (mixed / "only.yaml").write_text('whorl: 1\nsteps: {a: {run: ["true"]}}\n')
    assert "  1 call without a model  " in whorl("run", "only.yaml").err


def prices(whorl: Whorl, run: str) -> dict[str, float]:
    """What a run cost, wherever it is said."""
    result: dict[str, Any] = whorl("show", run, "--json").json
    row = next(row for row in whorl("ls", "--json", "-n", "99").json if row["run"] == run)
    found = {"show": result["usage"]["cost_usd"], "ls": row["cost_usd"]}
    found["status"] = whorl("show", "--brief", run, "--json").json["usage"]["cost_usd"]
    for by in ("model", "workflow", "day", "loop", "run", "step", "iteration"):
        found[by] = whorl("runs", "cost", run, "--by", by, "--json").json["total"]["cost_usd"]
    lines = whorl("runs", "cost", "--by", "run", "--json").json["lines"]
    found["cost of all"] = {line["name"]: line["cost_usd"] for line in lines}.get(run, 0.0)
    return found


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "steps",
    [
        [("run", "mixed.yaml")],
        [("run", "failing.yaml")],
        [("run", "gated.yaml"), ("runs", "cancel", "last")],
        [("run", "gated.yaml"), ("runs", "approve", "last")],
        [("run", "mixed.yaml", "--budget", "0.1032"), ("runs", "cancel", "last")],
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
        at = whorl("runs", "cost", run, "--at", loop["path"], "--json").json["total"]
        if steps[-1][0] != "fork":
            assert loop["usage"]["cost_usd"] == pytest.approx(at["cost_usd"]), loop["path"]
            assert loop["usage"]["calls"] == at["calls"], loop["path"]


MANY = """
whorl: 1
name: many
steps:
  all:
    each: [x, y, z]
    at_once: 1
    steps:
      polish:
        repeat:
          until: iteration == 3
          at_most: 4
          steps:
            write: {ask: "Write {{ item }} {{ iteration }}", max_tokens: 10}
outputs: {count: "{{ all | map(attribute='polish') | select | list | length }}"}
"""
PRICED = """
[defaults]
provider = "canned"
model = "m"

[providers.canned]
kind = "scripted"

[[providers.canned.replies]]
match = "Write"
replies = ["one two"]

[prices.m]
input = 1000
output = 1000
"""


@pytest.fixture
def many(project: Path) -> str:
    (project / "whorl.toml").write_text(PRICED)
    (project / "many.yaml").write_text(MANY)
    return "many.yaml"


def advised(done: Done) -> list[str]:
    """The command of the last line."""
    found = re.findall(r"next: whorl (.*)", done.err)
    return shlex.split(found[-1])


def test_the_advice_is_followed_until_all_is_done(whorl: Whorl, many: str) -> None:
    free = whorl("run", many, "--json").json["usage"]
    done = whorl("run", many, "--budget", "0.05")
    for _ in range(20):
        if done.code == 0 and "budget" not in done.err:
            break
        done = whorl(*advised(done))

    result = whorl("resume", "last", "--json").json
    assert done.code == 0
    assert [loop["exit_reason"] for loop in result["loops"]] == ["condition_met"] * 3
    assert result["usage"]["calls"] == free["calls"]
    assert result["usage"]["cost_usd"] == pytest.approx(free["cost_usd"])


def test_one_of_several_loops_is_named(whorl: Whorl, many: str) -> None:
    run = whorl("run", many, "--json").json["run"]

    several = whorl("continue", run, "--iterations", "1")
    whorl("continue", run, "--at", "all[2]/polish", "--iterations", "1").ends(0)

    assert several.code == 2
    assert "loops match: all[1]/polish, all[2]/polish, all[3]/polish\n" in several.err
    assert "help: say which with --at\n" in several.err
    assert whorl("resume", run, "--json").json["loops"][1]["iterations"] == 4


def test_more_iterations_without_money_are_refused(whorl: Whorl, many: str) -> None:
    limited = MANY.replace("at_most: 4", "at_most: {iterations: 4, calls: 2}")
    whorl("run", many, "--json")
    with open(many, "w") as file:
        file.write(limited)
    run = whorl("run", many, "--json").json["run"]

    whorl("continue", run, "--at", "all[1]/polish", "--iterations", "2").ends(
        2, "the calls budget of loop 'polish' allows no call\n", "help: add `--calls +2`\n"
    )
    done = whorl("continue", run, "--calls", "+5", "--json")

    assert [loop["iterations"] for loop in done.json["loops"]] == [3, 3, 3]


def test_validating_says_what_a_budget_cannot_hold(whorl: Whorl, project: Path, many: str) -> None:
    (project / "many.yaml").write_text(
        MANY.replace("steps:", "budget: 1\nmodel: far/nope\nsteps:", 1)
    )
    far = '[providers.far]\nkind = "openai"\nbase_url = "http://127.0.0.1:1"\napi_key = "k"\n'
    (project / "whorl.toml").write_text(f"{PRICED}{far}")

    valid = whorl("validate", many)

    words = "of a price that is not known, so the budget of $1.00 cannot limit them"
    assert words in valid.out
    assert "bounded by" not in valid.out


ROOT = Path(__file__).parents[2]


@pytest.fixture
def place(project: Path, whorl: Whorl) -> Path:
    for name, copy in (("polish.yaml", "polish.yaml"), ("demo.toml", "whorl.toml")):
        (project / copy).write_text((ROOT / "examples" / name).read_text())
    whorl("run", "polish.yaml", "a haiku about rain").ends(0)
    return project


@pytest.mark.sample(7)
@pytest.mark.parametrize(
    ("step", "calls"),
    [
        ('{ask: "hi", model: dead/m, retry: 0}', 0),
        ('{ask: "hi", model: nowhere/m, retry: 0}', 0),
        ("{ask: hi, model: dead/m, files: \"absent.{{ 'md' }}\", retry: 0}", 0),
        ('{http: "http://nowhere.invalid/", retry: 0}', 0),
        ('{http: "http://169.254.169.{{ 254 }}/", retry: 0}', 1),
        ('{run: ["no-such-{{ 1 }}"], retry: 0}', 0),
        # The program ran, and has no price.
        ('{run: ["false"], retry: 0}', 1),
        ('{agent: absent, prompt: "hi", retry: 0}', 0),
        ('{agent: closed, prompt: "hi", folder: "../x", retry: 0}', 0),
    ],
)
def test_what_was_never_sent_leaves_the_cost_known(
    project: Path, whorl: Whorl, step: str, calls: int
) -> None:
    (project / "whorl.toml").write_text(
        "[allow]\ncommands = true\n"
        '[providers.dead]\nkind = "openai"\nbase_url = "http://127.0.0.1:9/v1"\n'
        '[providers.nowhere]\nkind = "openai"\nbase_url = "https://nowhere.invalid/v1"\n'
        '[agents.absent]\nkind = "claude-code"\nprogram = "./no-such-program"\n'
        '[agents.closed]\nkind = "text"\nprogram = "true"\n'
    )
    (project / "t.yaml").write_text(f"whorl: 1\nsteps:\n  a: {step}\n")

    usage = whorl("run t.yaml --json").ends(1).json["usage"]
    total = whorl("runs cost --json").json["total"]

    assert (usage["calls"], usage["cost_usd"]) == (calls, 0.0)
    assert usage["in_doubt"] == usage.get("unpriced_calls", 0) == 0
    assert (total["calls"], total["unpriced_calls"]) == (calls, 0)


def test_a_price_that_is_not_known_is_said(project: Path, whorl: Whorl) -> None:
    usage = {"calls": 2, "input_tokens": 10, "output_tokens": 5, "cost_usd": None}
    finished = Event("task.finished", "a", 1.0, {"value": "x", "usage": usage, "model": "new"})

    async def store_run() -> None:
        async with SqliteStore(project / ".whorl" / "whorl.db") as store:
            made = NewRun(RunId("r1"), {}, "hash", "flow", "native")
            await store.create(made, Event("run.started", "", 0.0, {"input": {}}))
            owner = await store.claim(RunId("r1"))
            await store.append(RunId("r1"), owner, (finished,))
            await store.release(RunId("r1"), owner)

    asyncio.run(store_run())
    whorl("runs", "cost").prints("not known", "not in the sum: 2 calls without a known price")


def test_a_run_is_replayed_and_what_differs_is_shown(place: Path, whorl: Whorl) -> None:
    file = place / "polish.yaml"
    text = file.read_text()
    whorl("test polish.yaml").ends(0).prints("the same with 6 recorded replies")
    whorl("test polish.yaml --save polish.json").prints("saved 6 calls")

    file.write_text(text.replace("Review this text strictly", "Judge this"))
    whorl("test polish.yaml --recording polish.json").ends(1).prints(
        "~  [-Review this text strictly-]{+Judge this+}, say what to improve",
        "3 changed calls, 0 misses",
    )

    # A call that was never recorded is a loud miss.
    added = '        extra: {ask: "Shorten: {{ write }}"}\n        review:'
    file.write_text(text.replace("        review:", added))
    whorl("test polish.yaml").ends(1).prints("! polish[1]/extra has no recorded reply")

    (place / "other.yaml").write_text("whorl: 1\nsteps: {a: {value: 1}}\n")
    whorl("test other.yaml").ends(2, "nothing to replay")
