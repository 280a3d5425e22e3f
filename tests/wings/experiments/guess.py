"""A loop that guesses with canned replies, an experiment on it, and the commands in process."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whorl.interfaces.cli import COMMANDS
from whorl.interfaces.cli.group import build_group, run_safely
from whorl.runtimes.sqlite import SqliteStore

FILE = "guess.experiment.yaml"
FLOW = """
whorl: 1
name: guess
inputs: {n: integer}
steps:
  polish:
    repeat:
      until: [{score: {from: "{{ review.score }}", at_least: 0.9}}]
      at_most: 2
      steps:
        write: {ask: "Guess {{ n }} now {{ iteration }}"}
        review: {ask: "Review {{ write }}", returns: {score: number}}
outputs: {text: "{{ polish.write }}"}
"""
EXPERIMENT = """
experiment: 1
name: guess
workflow: guess.yaml
cases: cases.csv
variants:
  longer: {loops: {polish: {at_most: 4, return: best}}}
grade: "(outputs.text | length) / 10"
explore: {polish: 5}
at_once: 6
"""
GRADE = 'grade: "(outputs.text | length) / 10"\n'
VARIANTS = "variants:\n  longer: {loops: {polish: {at_most: 4, return: best}}}\n"
# It explores nothing.
PLAIN = EXPERIMENT.replace("explore: {polish: 5}\n", "")
SCORE = 'until: [{score: {from: "{{ review.score }}", at_least: 0.9}}]'
SHORT_YES = '[[providers.demo.replies]]\nmatch = "It is short"\nreplies = ["YES"]\n'
CONFIG = """
[defaults]
provider = "demo"
model = "scripted"
[providers.demo]
kind = "scripted"
[[providers.demo.replies]]
match = "Guess"
by = "iteration"
replies = ["a", "ab", "abc", "abcd", "abcde"]
[[providers.demo.replies]]
match = "Review"
by = "iteration"
replies = [
    {json = {score = 0.1}},
    {json = {score = 0.3}},
    {json = {score = 0.5}},
    {json = {score = 0.8}},
    {json = {score = 0.95}},
]
[prices.scripted]
input = 10.0
output = 100.0
"""


def write_cases(*ends: int) -> None:
    """Cases with the numbers of a range."""
    Path("cases.csv").write_text("n\n" + "".join(f"{n}\n" for n in range(*ends)))


@dataclass
class Done:
    exit_code: int
    stdout: str
    stderr: str


def whorl(*words: str) -> Done:
    return paste(*words, "--config", "whorl.toml")


def paste(*words: str) -> Done:
    """Runs a command in this process, with just these words."""
    out, beside = io.TextIOWrapper(io.BytesIO()), io.TextIOWrapper(io.BytesIO())
    with redirect_stdout(out), redirect_stderr(beside):
        code = run_safely(build_group(COMMANDS), words)
    texts = []
    for stream in (out, beside):
        stream.seek(0)
        texts.append(stream.read())
    return Done(code, *texts)


def run_json(*words: str) -> Any:
    done = whorl(*words, "--json")
    assert done.exit_code == 0, done
    return json.loads(done.stdout)


def dies_at(number: int, words: tuple[str, ...], *, ends: tuple[int, ...] = (0,)) -> bool:
    """Runs a command in a process of its own that ends before or after an append; true: it did."""
    child = os.fork()
    if child == 0:
        real, count = SqliteStore.append, 0

        async def append(self: Any, *given: Any, **options: Any) -> Any:
            nonlocal count
            count += 1
            is_last = count == number
            if is_last and number % 2:
                os._exit(9)
            done = await real(self, *given, **options)
            if is_last:
                os._exit(9)
            return done

        SqliteStore.append = append  # type: ignore[method-assign]
        code = 70
        try:
            code = whorl(*words).exit_code
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (*ends, 9)
    return code == 9


def configure(*more: str) -> None:
    Path("whorl.toml").write_text(CONFIG + "".join(more))


def reply_first(match: str, reply: str) -> None:
    """Has the provider answer prompts with these words in another way."""
    first = CONFIG.index("[[providers.demo.replies]]")
    rule = f'[[providers.demo.replies]]\nmatch = "{match}"\nreplies = [{reply}]\n'
    Path("whorl.toml").write_text(CONFIG[:first] + rule + CONFIG[first:])


def change(old: str, new: str, file: str = "guess.yaml") -> None:
    text = Path(file).read_text()
    assert old in text
    Path(file).write_text(text.replace(old, new))


def advised(text: str) -> list[str]:
    """The words of the last command in a text."""
    *_, found = re.finditer(r"whorl (--config [^`\n]*)", text)
    return shlex.split(found[1])
