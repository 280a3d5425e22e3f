"""The examples of each dialect run as they say, with canned replies, on a real store."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

import whorl
from whorl.runtimes.start_options import Start

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
DIALECTS = ("loom", "mcp-cli", "orka", "shodan", "studio")
# What each file is given, and what comes of it: `loops` are iterations and why they ended,
# `holds` are parts of the outputs, `prompts` parts of what models were asked.
RUNS: dict[str, dict[str, Any]] = yaml.safe_load(r"""
loom/agent.json:
  given: {question: "What is a whorl?"}
  outputs: {answer: "one turn of a spiral, five times",
            notes: "nothing yet; whorl is one turn of a spiral; 5; "}
  loops: {agent: [3, expression]}
  warnings: [W005]
loom/pages.json: {outputs: {all: [A+B, C]}, loops: {pages: [2, expression]}}
loom/invoice.json:
  given: {lines: [{count: 2, price: 1.5}, {count: 0, price: 9}, {count: 1, price: 4}]}
  output: {total: 7.0, lines: [3.0, 4], mail: {sent: true, total: 7.0}}
loom/polling.json:
  given: {job: the scarf}
  outputs: {result: the scarf is woven}
  loops: {wait_for_job: [3, expression]}
  warnings: [W005]
loom/queue.json:
  outputs: {yarn: [wool yarn, silk yarn, flax yarn]}
  loops: {drain: [3, expression]}
loom/retrying.json:
  outputs: {fetched: thread after 3 tries, found: loom is a machine that weaves}
loom/weaving.json:
  outputs: {cloth: 00 01 10 11 20 21}
  loops: {rows: [3, expression], "rows[1]/stitches": [2, expression],
          "rows[2]/stitches": [2, expression], "rows[3]/stitches": [2, expression]}
mcp-cli/iterative_developer.yaml:
  given: {input: a function that adds}
  output: The function adds two whole numbers; it took two rounds.
  loops: {develop: [2, judge]}
mcp-cli/refine_document.yaml:
  output: The meeting has moved to Monday at ten.
  loops: {refine: [3, judge]}
mcp-cli/search_solution.yaml:
  given: {input: the server stands still}
  output: "The disk is full: df shows 100%."
  failed: [1]
  loops: {search: [3, judge]}
mcp-cli/book.yaml:
  output: It ended in sun.
  loops: {book: [2, judge], "book[1]/drafts": [1, judge], "book[2]/drafts": [1, judge]}
mcp-cli/pipeline.yaml:
  given: {input: a calculator}
  output: "Released: parser.py, printer.py (12 passed)."
  loops: {develop: [1, judge], test: [1, judge]}
mcp-cli/batch.yaml: {output: "YES, it is right.", calls: 6}
orka/quality_loop.yml:
  given: {input: it rains}
  output: a second version
  holds: {polish: {loops_completed: 2, final_score: 0.9}}
  loops: {polish: [2, score]}
  prompts: {"polish[2]/improver": [1 attempts before]}
orka/learning_loop.yml:
  given: {input: umbrellas}
  output: Rain sells umbrellas.
  loops: {study: [2, score]}
  prompts:
    study[2]/analyst: [a clear line of thought, figures about prices, in the sources, "0.5"]
    summary: [2 iterations, at 12 euros]
  lacks:
    study[1]/analyst: [a clear line of thought, figures about prices, in the sources, "0.5"]
orka/society.yml:
  given: {input: a fence}
  loops: {debate: [2, score]}
  holds: {debate: {past_loops: [{proposals: weigh the costs | listen to the neighbours}, {}]}}
  prompts: {"debate[2]/voices/logic": [listen to the neighbours]}
orka/code_loop.yml:
  given: {input: "def f(): pass"}
  loops: {refactor: [3, max_iterations]}
  holds: {refactor: {threshold_met: false, response: mended code with tests}}
orka/validator_loop.yml:
  given: {input: a house}
  loops: {improve: [2, score]}
  holds: {improve: {response: plan B, final_score: 0.92}}
orka/remembering.yml:
  given: {input: "what are umbrellas for?"}
  output: Umbrellas keep the rain off
  prompts: {answer: ["Earlier answers: NONE"]}
shodan/review.yaml:
  given: {task: Add two numbers}
  outputs: {final_code: "def add(a: float, b: float) -> float: ...", approved: true, iterations: 2}
  loops: {review-loop: [2, expression]}
shodan/titles.yaml: {given: {texts: [Bees hum, Mills turn]}, outputs: {titles: [The Hum, The Turn]}}
shodan/refine.yaml:
  given: {topic: a haiku about rain}
  outputs: {text: "Rain falls, and stops", scores: [0.5, 0.9]}
  loops: {refine: [2, expression]}
shodan/retry.yaml: {outputs: {attempts: 2, said: it worked}, loops: {retry: [2, expression]}}
shodan/session.yaml:
  outputs: {answer: It is a heron., turns: 2}
  loops: {talk: [2, expression]}
shodan/count.yaml: {outputs: {final: 3}, loops: {count: [3, expression]}}
studio/self-refine.json:
  given: {topic: bees}
  outputs: {result: "DRAFT: Bees fly to flowers and carry pollen.\nCRITIQUE: Good.", turns: 3}
  loops: {refine: [3, max_iterations]}
studio/judged.json:
  given: {question: "Why?"}
  output: The sky is blue because air scatters blue light most.
  loops: {turn: [2, branch]}
studio/summary.json:
  loops: {shorten: [3, stable]}
  wrote: {out/summary.txt: The mill ran again after two days.}
studio/chapters.json:
  given: {titles: [Spring, Summer]}
  output: "Snow melts, and bees wake.\n\nIt is hot, and bees swarm."
  loops: {"each[1]/revise": [2, max_iterations], "each[2]/revise": [2, max_iterations]}
studio/agentic-search.json:
  given: {question: "What do bees do in winter?"}
  output: In winter bees keep warm in a ball.
  loops: {turn: [2, branch]}
""")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the examples, without keys; what their folder imports is forgotten afterwards."""
    left_out = ("_API_KEY", "_BASE_URL", "WHORL_HOME")
    for name in [name for name in os.environ if name.endswith(left_out)]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    for dialect in DIALECTS:
        shutil.copytree(ROOT / "examples" / dialect, tmp_path / dialect)
    (tmp_path / "orka/demo.toml").rename(tmp_path / "orka/whorl.toml")
    with (tmp_path / "shodan/whorl.toml").open("a") as settings:
        settings.write("\n[allow]\ncommands = true\n")
    yield tmp_path
    sys.modules.pop("activities", None)


class Ran:
    """What came of an example: its result, events, memories, and the prompts by address."""

    def __init__(self, result: whorl.Result, events: list[Any], memories: list[str]) -> None:
        self.result, self.events, self.memories = result, events, memories
        told = [(e.address, e.body["inputs"]) for e in events if e.kind == "task.started"]
        self.prompts = {at: str(inputs.get("prompt")) for at, inputs in told}


def run(file: Path, given: dict[str, Any]) -> Ran:
    """Runs a file in its folder."""
    os.chdir(file.parent)

    async def work() -> Ran:
        async with whorl.Session() as session:
            opened, loaded = session.opened, whorl.load(file)
            name, _ = await opened.runtime.start(loaded.ir, Start(input=given))
            opened.driving.drive(name)
            started = session.run(name)
            result = await started.result()
            memories = [row.key for row in opened.store.memories()]
            return Ran(result, [event async for event in started.events()], memories)

    return asyncio.run(work())


def fits(actual: Any, expected: Any) -> bool:
    """Whether a value has all that is expected of it."""
    if isinstance(expected, list):
        return len(actual) == len(expected) and all(map(fits, actual, expected))
    if not isinstance(expected, dict):
        return bool(actual == expected)
    return all(fits(actual[name], value) for name, value in expected.items())


@pytest.mark.parametrize("name", RUNS)
def test_an_example_gives_what_it_says(place: Path, name: str) -> None:
    if name == "studio/agentic-search.json":
        pytest.importorskip("mcp", reason="the extra `mcp` is not installed")
        server = ROOT / "tests/formats/studio/notes_server.py"
        config = (place / "studio/whorl.toml").read_text()
        config = config.replace("\n[allow]\n", "\n[allow]\ncommands = true\n")
        config += f"[mcp.notes]\ncommand = [{sys.executable!r}, {str(server)!r}]\n"
        (place / "studio/whorl.toml").write_text(config)
    expected = RUNS[name]
    ran = run(place / name, expected.get("given", {}))
    result, parts = ran.result, (expected.get("prompts", {}), expected.get("lacks", {}))
    loops = {loop.path: [loop.iterations, loop.stopped_by or loop.exit_reason]
             for loop in result.loops}  # fmt: skip
    known = [found.code for found in whorl.load(place / name).warnings]

    assert (known, result.status) == (expected.get("warnings", []), "succeeded"), result.error
    assert result.outputs == expected.get("outputs", result.outputs)
    assert result.output == expected.get("output", result.output)
    assert fits(result.outputs, expected.get("holds", {}))
    assert loops == expected.get("loops", {})
    assert result.usage.calls == expected.get("calls", result.usage.calls)
    failed = [number for loop in result.loops for number in loop.failed_iterations]
    assert failed == expected.get("failed", [])
    for is_there, addresses in zip((True, False), parts, strict=True):
        for address, words in addresses.items():
            assert [word in ran.prompts[address] for word in words] == [is_there] * len(words)
    for file, text in expected.get("wrote", {}).items():
        assert ((place / name).parent / file).read_text() == text


def test_remembering_remembers_between_runs(place: Path) -> None:
    run(place / "orka/remembering.yml", {"input": "what are umbrellas for?"})
    again = run(place / "orka/remembering.yml", {"input": "umbrellas"})

    assert "Earlier answers: what are umbrellas for?: Umbrellas keep" in again.prompts["answer"]
    assert again.memories == ["memory/questions"]


def test_each_judgement_tells_its_question_and_its_answer(place: Path) -> None:
    """In its event, and in what a verbose run prints."""
    question, folder = "The text has at most twelve words", place / "mcp-cli"
    command = [sys.executable, "-m", "whorl.interfaces.cli", "run", "refine_document.yaml", "Text"]
    command.append("--verbose")
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    events = run(folder / "refine_document.yaml", {}).events
    line = f"[INFO] Condition evaluation: '{question}' -> "
    answers = ["NO", "NO", "YES"]

    assert [e.body["facts"] for e in events if e.kind == "iteration.finished"] == [
        [{"leaf": 1, "by": "judge", "met": said == "YES", "answer": said, "question": question}]
        for said in answers
    ]
    said = [text.strip() for text in done.stderr.splitlines() if line in text]
    assert said == [line + answer for answer in answers]
