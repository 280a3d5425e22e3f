"""`whorl cost` and `whorl test`: what runs cost, and replaying them."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from waiting import PATIENCE_S
from whorl.interpreter.events import Event
from whorl.runtimes.journal.journal import NewRun, RunId
from whorl.runtimes.sqlite import SqliteStore

ROOT = Path(__file__).parents[2]
WHORL = [sys.executable, "-m", "whorl.interfaces.cli"]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name, copy in (("polish.yaml", "polish.yaml"), ("demo.toml", "whorl.toml")):
        (tmp_path / copy).write_text((ROOT / "examples" / name).read_text())
    done = whorl(tmp_path, "run", "polish.yaml", "a haiku about rain")
    assert done.returncode == 0, done.stderr
    return tmp_path


def whorl(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*WHORL, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


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
def test_what_was_never_sent_leaves_the_cost_known(tmp_path: Path, step: str, calls: int) -> None:
    (tmp_path / "whorl.toml").write_text(
        "[allow]\ncommands = true\n"
        '[providers.dead]\nkind = "openai"\nbase_url = "http://127.0.0.1:9/v1"\n'
        '[providers.nowhere]\nkind = "openai"\nbase_url = "https://nowhere.invalid/v1"\n'
        '[agents.absent]\nkind = "claude-code"\nprogram = "./no-such-program"\n'
        '[agents.closed]\nkind = "text"\nprogram = "true"\n'
    )
    (tmp_path / "t.yaml").write_text(f"whorl: 1\nsteps:\n  a: {step}\n")

    ran = whorl(tmp_path, "run", "t.yaml", "--json")

    usage = json.loads(ran.stdout)["usage"]
    assert (ran.returncode, usage["calls"], usage["cost_usd"]) == (1, calls, 0.0)
    assert usage["in_doubt"] == usage.get("unpriced_calls", 0) == 0
    total = json.loads(whorl(tmp_path, "cost", "--json").stdout)["total"]
    assert (total["calls"], total["unpriced_calls"]) == (calls, 0)


def test_usage_is_rolled_up_and_adds_up(place: Path) -> None:
    result = json.loads(whorl(place, "cost", "--json").stdout)["total"]
    for by, names in {
        "model": ["demo/scripted"],
        "step": ["polish/review", "polish/write"],
        "loop": ["polish"],
        "iteration": ["polish[1]", "polish[2]", "polish[3]"],
        "workflow": ["polish"],
    }.items():
        told = json.loads(whorl(place, "cost", "last", "--by", by, "--json").stdout)
        assert [line["name"] for line in told["lines"]] == names
        assert told["total"]["calls"] == 6 == sum(line["calls"] for line in told["lines"])
        assert told["total"]["cost_usd"] == pytest.approx(result["cost_usd"])
        assert told["total"]["unpriced_calls"] == 0


async def _store_run(folder: Path, *events: Event) -> None:
    async with SqliteStore(folder / ".whorl" / "whorl.db") as store:
        made = NewRun(RunId("r1"), {}, "hash", "flow", "native")
        await store.create(made, Event("run.started", "", 0.0, {"input": {}}))
        owner = await store.claim(RunId("r1"))
        await store.append(RunId("r1"), owner, events)
        await store.release(RunId("r1"), owner)


def test_a_price_that_is_not_known_is_said(tmp_path: Path) -> None:
    usage = {"calls": 2, "input_tokens": 10, "output_tokens": 5, "cost_usd": None}
    finished = Event("task.finished", "a", 1.0, {"value": "x", "usage": usage, "model": "new"})

    asyncio.run(_store_run(tmp_path, finished))
    told = whorl(tmp_path, "cost").stdout

    assert "not known" in told
    assert "not in the sum: 2 calls without a known price" in told


def test_a_run_is_replayed_and_what_differs_is_shown(place: Path) -> None:
    file = place / "polish.yaml"
    text = file.read_text()
    done = whorl(place, "test", "polish.yaml")
    assert done.returncode == 0, done.stdout
    assert "the same with 6 recorded replies" in done.stdout
    saved = whorl(place, "test", "polish.yaml", "--save", "polish.json")
    assert "saved 6 calls" in saved.stdout

    file.write_text(text.replace("Review this text strictly", "Judge this"))
    done = whorl(place, "test", "polish.yaml", "--cassette", "polish.json")
    assert done.returncode == 1
    assert '-  "prompt": "Review this text strictly' in done.stdout
    assert '+  "prompt": "Judge this' in done.stdout
    assert "3 changed calls, 0 misses" in done.stdout

    # A call that was never recorded is a loud miss.
    added = '        extra: {ask: "Shorten: {{ write }}"}\n        review:'
    file.write_text(text.replace("        review:", added))
    done = whorl(place, "test", "polish.yaml")
    assert done.returncode == 1
    assert "! polish[1]/extra was never recorded" in done.stdout

    (place / "other.yaml").write_text("whorl: 1\nsteps: {a: {value: 1}}\n")
    done = whorl(place, "test", "other.yaml")
    assert done.returncode == 2
    assert "nothing to replay" in done.stderr
