"""`whorl runs cost` and `whorl test`: what runs cost, and replaying them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from whorl.interpreter.events import Event
from whorl.runtimes.journal.journal import NewRun, RunId
from whorl.runtimes.sqlite import SqliteStore

if TYPE_CHECKING:
    from command_line import Whorl

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
        '-  "prompt": "Review this text strictly',
        '+  "prompt": "Judge this',
        "3 changed calls, 0 misses",
    )

    # A call that was never recorded is a loud miss.
    added = '        extra: {ask: "Shorten: {{ write }}"}\n        review:'
    file.write_text(text.replace("        review:", added))
    whorl("test polish.yaml").ends(1).prints("! polish[1]/extra has no recorded reply")

    (place / "other.yaml").write_text("whorl: 1\nsteps: {a: {value: 1}}\n")
    whorl("test other.yaml").ends(2, "nothing to replay")
