"""Commands print of runs of a cluster with two workers what they print of local ones."""

from __future__ import annotations

import re
from contextlib import ExitStack
from typing import TYPE_CHECKING

from cluster.cluster import worker

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cluster.cluster import Server

PROJECT = """
[defaults]
provider = "fake"
[providers.fake]
kind = "scripted"
model = "m"
replies = [
  {match = "version 1", replies = ["a first draft"]},
  {match = "version 2", replies = ["a better draft"]},
  {match = "Write about", replies = ["the best draft"]},
  {match = "Rate: a", replies = ["5"]},
  {match = "Rate", replies = ["9"]},
]
[workflows]
python = ["commanded_flow:essay"]
"""
CLUSTER = """
[runtime]
kind = "temporal"
[runtime.temporal]
address = "{address}"
queue = "commands"
"""
WORKFLOW = """
whorl: 1
name: commanded
inputs: {topic: string}
steps:
  polish:
    repeat:
      until: {score: {from: "{{ rate }}", at_least: 10}}
      at_most: 3
      return: best
      steps:
        both:
          together:
            write: {ask: "Write about {{ topic }}, version {{ iteration }}"}
            aside: {ask: "Write about {{ topic }}, version 2"}
        rate: {ask: "Rate: {{ both.write }}"}
  all: {each: [1, 2, 3], steps: {say: {ask: "Write about {{ item }}"}}}
outputs: {text: "{{ polish.both.write }}", said: "{{ all }}"}
"""
CODE = """
import whorl


@whorl.workflow
async def essay(topic: str) -> str:
    polish = whorl.loop(str, at_most=3, keep="best")
    async for turn in polish:
        write = await whorl.ask(f"Write about {topic}, version {turn.number}", name="write")
        turn.value = write
        turn.score(len(write) / 100, at_least=0.9)
    return polish.result
"""
COMMANDS = [
    # A run with a key has an id that sorts behind all others on a cluster; `last` is the next one.
    ["run", "polish.yaml", "topic=ants", "--key", "order-1", "--json"],
    ["run", "polish.yaml", "topic=bees", "--json"],
    # Tests before this one may have left runs of others on the server.
    ["ls", "--workflow", "commanded", "--json"],
    ["show", "last"],
    ["show", "last/polish[2]/both/write"],
    ["show", "last", "--json"],
    ["why", "last"],
    ["why", "last", "--json"],
    ["diff", "last", "1", "2"],
    ["runs", "cost", "last", "--by", "iteration"],
    ["continue", "last", "--iterations", "1", "--json"],
    ["why", "last"],
    ["fork", "last", "--at", "polish[2]", "--set", "topic=wasps", "--json"],
    ["show", "last/polish[2]/both/write"],
    ["ls", "--workflow", "commanded", "--json"],
    ["run", "commanded_flow:essay", "topic=ants", "--json"],
    ["show", "last"],
    ["show", "last/polish[2]/write"],
    ["why", "last"],
    ["diff", "last", "1", "2"],
    ["continue", "last", "--iterations", "1", "--json"],
    ["fork", "last", "--at", "polish[2]", "--json"],
]
# What is different each time: ids, and what the clock tells.
_VARIES = [
    (r"\b(1[0-9a-hjkmnp-tv-z]{16}|key-[0-9a-f]{32})\b", "RUN"),
    (r"\d{4}-\d\d-\d\d[T ][\d:.]+Z?", "TIME"),
    (r'("\w*(?:seconds|_s|_at|at)"): -?[\d.e-]+', r"\1: N"),
    (r"\b\d+(\.\d+)?\s?(ms|s|m|h|min)\b", "SPAN"),
    (r"[ ─-]+", " "),
]


def _same_each_time(text: str, folder: Path) -> str:
    text = text.replace(str(folder), "FOLDER")
    for pattern, name in _VARIES:
        text = re.sub(pattern, name, text)
    return text


def test_commands_print_the_same_as_of_local_runs(
    server: Server, tmp_path: Path, command: Callable[..., tuple[int, str, str]]
) -> None:
    printed: list[list[str]] = []
    for more in ("", CLUSTER.format(address=server.address)):
        folder = tmp_path / ("cluster" if more else "local")
        folder.mkdir()
        (folder / "whorl.toml").write_text(PROJECT + more)
        (folder / "polish.yaml").write_text(WORKFLOW)
        (folder / "commanded_flow.py").write_text(CODE)
        with ExitStack() as stack:
            for _ in range(2 if more else 0):
                stack.enter_context(worker(folder))
            printed.append([])
            for words in COMMANDS:
                code, text, fault = command(folder, *words)
                assert code == 0, text + fault
                printed[-1].append(_same_each_time(text, folder))

    # Of calls that are made together either may be answered first.
    for words, local, cluster in zip(COMMANDS, *printed, strict=True):
        assert sorted(cluster.splitlines()) == sorted(local.splitlines()), words
