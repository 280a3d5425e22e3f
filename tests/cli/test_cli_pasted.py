"""Every command that is printed can be pasted: it makes progress, or ends the matter.

Workflows are drawn, and run until a budget, a limit, a question, a failure or a crash stops them.
Each command that is printed then is tried on a copy of the store; the first one is followed.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections import Counter
from contextlib import closing
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from campaign import seeds
from experiments.guess import Done, dies_at, paste
from experiments.served import SERVED, billed
from whorl.runtimes.sqlite import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path

    from experiments.served import Billed

__all__ = ["billed"]

# What a run says when it is only refused once more.
_AGAIN = frozenset(
    {"run.resumed", "run.continued", "task.started", "budget.reached", "run.waiting", "warning"}
    | {"run.paused", "loop.continued", "loop.started", "iteration.started", "task.retrying"}
)
_LOOKS = ("show", "why", "diff", "watch", "help", "ls", "cost")
_ROUNDS = 8


class Drawn:
    """A workflow of a seed."""

    def __init__(self, random: Random) -> None:
        self.random, self.count = random, 0

    def workflow(self) -> dict[str, Any]:
        made = {"whorl": 1, "name": "drawn", "steps": self.steps(2)}
        budget = self.random.choice((None, 0.0004, 0.01, 0.06, {"calls": 3}, {"tokens": 900}))
        return made if budget is None else made | {"budget": budget}

    def steps(self, depth: int) -> dict[str, Any]:
        return dict(self.step(depth) for _ in range(self.random.choice((1, 1, 2))))

    def step(self, depth: int) -> tuple[str, dict[str, Any]]:
        self.count += 1
        kinds = [self.ask, self.ask, self.gate] + [self.loop, self.loop, self.each] * (depth > 0)
        return f"s{self.count}", self.random.choice(kinds)(depth - 1)

    def ask(self, depth: int) -> dict[str, Any]:
        made: dict[str, Any] = {
            "ask": self.random.choice(("Say", "Say", "Say", "Fail")),
            "retry": 0,
        }
        most = self.random.choice((None, 30, 400))
        return made if most is None else made | {"max_tokens": most}

    def gate(self, depth: int) -> dict[str, Any]:
        return {"approve": {"message": "Go on?"}}

    def each(self, depth: int) -> dict[str, Any]:
        at_once = self.random.choice((1, 3))
        return {"each": [1, 2, 3], "at_once": at_once, "steps": self.steps(depth)}

    def loop(self, depth: int) -> dict[str, Any]:
        limit = self.random.choice(({}, {"cost": 0.01}, {"calls": 2}, {"tokens": 500}))
        loop = {
            "until": self.random.choice(("iteration == 2", "false")),
            "at_most": {"iterations": self.random.choice((1, 3)), **limit},
            "on_limit": self.random.choice(("finish", "finish", "fail", "pause")),
            "steps": self.steps(depth),
        }
        return {"repeat": loop}


def pasted(done: Done) -> list[list[str]]:
    """The commands in what was printed; what to do next is the first."""
    told = f"{done.stdout}\n{done.stderr}"
    found = re.findall(r"next: +(.*)", told)
    found += re.findall(r"`(whorl [^`]*)`", told)
    words = [shlex.split(text, comments=True)[1:] for text in dict.fromkeys(found)]
    # Some only name a command.
    return [each for each in words if len(each) > 1 or each[0] in _LOOKS]


def journaled(folder: Path) -> Counter[str]:
    """How many entries of which kind there are."""
    with closing(SqliteStore(folder / ".whorl" / "whorl.db")) as store:
        runs = [row.id for row in store.runs()]
        return Counter(entry.event.kind for run in runs for entry in store.read(run))


def check(folder: Path, words: list[str]) -> Done:
    """A pasted command does more than to be refused once more."""
    verb = next(word for word in words if word.isalpha() and word in (*_LOOKS, *_STEERS))
    before = journaled(folder)
    done = paste(*words)
    assert done.exit_code != 2, (words, done.stderr)
    new = journaled(folder) - before
    assert verb in _LOOKS or set(new) - _AGAIN, (words, new, done.stderr)
    return done


_STEERS = ("resume", "continue", "approve", "reject", "accept", "fork", "run")


@pytest.mark.sample(17)
@pytest.mark.campaign
@pytest.mark.parametrize("seed", seeds(25, 1_000))
def test_every_command_that_is_printed_makes_progress(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, billed: Billed, seed: int
) -> None:
    random = Random(seed)
    drawn = Drawn(random).workflow()
    billed.tokens, billed.keeps = random.choice((20, 300, 3_000)), random.random() < 0.5
    billed.fails_at, billed.failing = "Fail", random.choice((0, 1, 2))
    monkeypatch.setenv("WHORL_TRUST", "1")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "whorl.toml").write_text(SERVED.format(url=billed.url))
    (tmp_path / "drawn.yaml").write_text(json.dumps(drawn))
    at, words = random.randrange(3, 12), ("run", "drawn.yaml")
    if random.random() < 0.25 and dies_at(at, words, ends=(0, 1, 4, 5)):
        done = paste("show", "last")
    else:
        done = paste("run", "drawn.yaml")
    for _ in range(_ROUNDS):
        commands = pasted(done)
        assert commands, done.stderr
        kept = tmp_path / "kept"
        shutil.copytree(tmp_path / ".whorl", kept)
        for words in commands[1:]:
            check(tmp_path, words)
            shutil.rmtree(tmp_path / ".whorl")
            shutil.copytree(kept, tmp_path / ".whorl")
        shutil.rmtree(kept)
        done = check(tmp_path, commands[0])
        if commands[0][0] in _LOOKS or (done.exit_code == 0 and "next: whorl" not in done.stderr):
            break
