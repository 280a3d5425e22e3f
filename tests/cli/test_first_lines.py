"""The first line of each command answers its question; the last one is the command to run next."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from whorl.interfaces.progress import LoopProgress

if TYPE_CHECKING:
    from pathlib import Path

    from command_line import Whorl

EXPERIMENT = """
experiment: 1
name: small
workflow: polish.yaml
cases: [{task: a}, {task: b}]
grade: "1"
"""
# What is typed, the exit code, where the first line is, the first line, and the next command.
# ID is the run that the command is about, and NEW one that it makes.
Row = tuple[str, int, str, str, str]
FIRST_MINUTES: list[Row] = [
    ("ls", 0, "err", "no runs yet", "run FILE"),
    (
        "validate first.yaml",
        0,
        "out",
        r"first\.yaml: ok, native, 1 loop, at most \d+ calls.*",
        "run first.yaml",
    ),
    ("test", 0, "out", r"first\.test\.yaml: 2 passed", ""),
    (
        "run first.yaml --mocks",
        0,
        "err",
        r"run NEW of first: mocked by first\.test\.yaml, nothing is sent or paid",
        "why",
    ),
    ("why", 0, "out", r"polish stopped after 2 of \d iterations: .* is true", "diff 1 2"),
    ("diff 1 2", 0, "out", r"polish 1 -> 2: score 0\.\d+ -> 0\.\d+.*", ""),
    ("show", 0, "out", r"run ID of first: succeeded after 2 iterations, .*mocked by .*", "why"),
    ("ls", 0, "out", r"STATUS +WORKFLOW +RUN .*", ""),
]
RUNS: list[Row] = [
    (
        "new self-refine",
        0,
        "out",
        r"created self-refine\.yaml \(self-refine, native: .*",
        "run self-.*",
    ),
    (
        "run polish.yaml x --max-iterations 2 --budget 9",
        0,
        "err",
        r"run NEW of polish: at most \d+ calls.*; at most \$9\.00, the budget",
        r"continue ID --iterations 3",
    ),
    (
        "show",
        0,
        "out",
        r"run ID of polish: ! limit after 2 iterations, \$0\.\d+.*",
        "continue ID .*",
    ),
    (
        "continue ID --iterations 3",
        0,
        "err",
        "run ID: polish continues at iteration 3, 3 more",
        "why",
    ),
    (
        "why",
        0,
        "out",
        "polish stopped after 3 of 5 iterations: review.approved is true",
        "diff 2 3",
    ),
    ("accept ID --iteration 2", 0, "err", "run ID: polish returns iteration 2", "show"),
    (
        "fork ID --at 'polish[2]'",
        0,
        "err",
        r"run NEW: forked from ID at polish\[2\]",
        r"diff 2 2 --with ID",
    ),
    ("diff 1 2", 0, "out", r"polish 1 -> 2: score 0\.41 -> 0\.63, \$0\.\d+ -> \$0\.\d+.*", ""),
    (
        "try polish.yaml --at polish/write -i task=bees",
        0,
        "err",
        r"try of polish/write \(not in ls\), at most \$0\.25",
        r"show NEW/write",
    ),
    ("run gated.yaml", 4, "err", r"run NEW of gated: at most \d+ calls.*", "runs approve ID"),
    ("watch", 4, "err", r".*gated.*", "runs approve ID"),
    ("runs pause ID", 0, "out", r"run ID is paused", "resume ID"),
    ("resume ID", 4, "err", "run ID: resumed", "runs approve ID"),
    ("runs approve ID -m good", 0, "err", "run ID: check approved", "show"),
    ("run failing.yaml", 1, "err", r"run NEW of failing: .*", "resume ID"),
    ("why", 0, "out", r"run ID of failing: failed.*", "resume ID"),
    ("runs cost", 0, "out", r"\$0\.\d+ in \d runs since \d+ [A-Z][a-z]+", ""),
    ("experiment run small.experiment.yaml", 0, "err", r"small: 2 trials.*", ""),
]


def check(whorl: Whorl, rows: list[Row]) -> None:
    for line, code, stream, first, following in rows:
        before = {row["run"] for row in whorl("ls --json --all").json}
        last = whorl("ls --json").json[:1]
        run = last[0]["run"] if last else ""
        if line.startswith("fork"):
            source = run
        done = whorl(line.replace("ID", run))
        new = {row["run"] for row in whorl("ls --json --all").json} - before
        made = next(iter(new), run)
        meant = source if line.startswith("fork") else made
        assert done.code == code, f"{line}: {done.out}{done.err}"
        shown = {"out": done.out, "err": done.err}[stream].splitlines()
        wanted = first.replace("NEW", made).replace("ID", meant)
        assert re.fullmatch(wanted, shown[0]), f"{line}: {shown[0]}"
        advised = [text for text in (done.out + done.err).splitlines() if "next: " in text]
        assert len(advised) == bool(following), f"{line}: {advised}"
        if following:
            wanted = following.replace("NEW", made).replace("ID", meant)
            last_line = done.err.splitlines()[-1]
            assert re.fullmatch(f"next: whorl {wanted}", last_line), f"{line}: {last_line}"
        text = [each for each in shown if not each.startswith(("error", "next", "warning"))]
        assert max(map(len, text), default=0) <= 100, f"{line}: {max(text, key=len)}"


def test_the_first_five_minutes(
    whorl: Whorl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    (tmp_path / "whorl.toml").unlink()
    made = whorl("init flows").prints("created flows/: whorl.toml, first.yaml, first.test.yaml\n")
    assert made.err.splitlines()[-1] == "next: cd flows && whorl run first.yaml --mocks"
    monkeypatch.chdir(tmp_path / "flows")
    check(whorl, FIRST_MINUTES)


def test_each_command_answers_first(
    whorl: Whorl, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "small.experiment.yaml").write_text(EXPERIMENT)
    check(whorl, RUNS)
    with (project / "whorl.toml").open("a") as config:
        config.write("\n[allow]\ncommands = ['make']\n")
    monkeypatch.delenv("WHORL_TRUST", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(project / "home"))
    whorl("project trust").ends(2).prints("whorl.toml asks for:", "commands make")


def test_the_doctor_counts_its_checks(whorl: Whorl) -> None:
    done = whorl("project doctor")
    failed = done.out.count("\n✗")
    checks = len(done.out.splitlines()) - 1
    ended = f"{failed} of {checks} checks failed" if failed else f"ok: {checks} checks"
    assert done.out.splitlines()[0] == ended


@pytest.mark.parametrize(
    ("number", "limit", "words"), [(2, 3, "2/3"), (4, 3, "4 (exploring to 6, rule 3)"), (4, 0, "4")]
)
def test_an_iteration_is_never_shown_beyond_its_limit(number: int, limit: int, words: str) -> None:
    assert LoopProgress("polish", number=number, limit=limit, most=6).count() == words
