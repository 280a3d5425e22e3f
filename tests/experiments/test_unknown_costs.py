"""What rules and judges cost is not known where a model has no price: never nothing in silence."""

from __future__ import annotations

import asyncio
import csv
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

import whorl as whorl_package
from experiments.guess import EXPERIMENT, dies_at, folder, run_json, whorl
from experiments.served import SERVED, model
from whorl.interfaces.figures import dollars
from whorl.runtimes.journal.journal import RunId
from whorl.services.experiments.document import read_experiment
from whorl.services.experiments.study import Study
from whorl.services.experiments.what_if.asking import run_facts
from whorl.services.experiments.what_if.exporting import facts_document
from whorl.services.project import find_project

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["folder", "model"]

FILE = "guess.experiment.yaml"
VARIANTS = "variants:\n  longer: {loops: {polish: {at_most: 4, return: best}}}\n"
UNLISTED = EXPERIMENT.replace(VARIANTS, "variants:\n  other: {model: unlisted}\n")
OTHER = ("--variant", "other")
OWN = """
whorl: 1
name: own
steps:
  l: {repeat: {until: iteration == 2, steps: {a: {ask: "Write {{ iteration }}", model: MODEL}}}}
outputs: {text: "{{ l.a }}"}
"""


def _run(folder: Path, url: str, text: str = UNLISTED) -> list[dict[str, str]]:
    """Runs three cases; gives the trials of the variant whose model has no price."""
    (folder / "whorl.toml").write_text(SERVED.format(url=url))
    (folder / "cases.csv").write_text("n\n1\n2\n3\n")
    (folder / FILE).write_text(text)
    found = run_json("experiment", "run", FILE)
    return [row for row in found["rows"] if row["variant"] == "other"]


@pytest.mark.slow
def test_rules_over_runs_without_a_price_cost_what_nobody_knows(folder: Path, model: str) -> None:
    _run(folder, model)

    base, found = (run_json("what-if", FILE, *more) for more in ((), OTHER))
    table = whorl("what-if", FILE, *OTHER, "--svg", "rules.svg").stdout
    sheet = list(csv.DictReader(whorl("what-if", FILE, *OTHER, "--csv").stdout.splitlines()))

    for each, is_priced in ((base, True), (found, False)):
        rows = [*each["rules"], *each["ideal"].values()]
        assert each["rules"]
        assert {row["cost_usd"] is not None for row in rows} == {is_priced}
        assert any(row["is_frontier"] for row in each["rules"]) == is_priced
    assert "$" not in table
    assert "on the frontier" not in table
    lines = table.splitlines()
    yours, *_ = [line for line in lines if "yours" in line]
    ideal, *_ = [line for line in lines if "no loop at all" in line]
    assert yours.count("not known") == ideal.count("not known") == 1
    assert {row["cost_usd"] for row in sheet} == {""}
    assert {row["grade"] for row in sheet} != {""}
    assert "$" not in (folder / "rules.svg").read_text()


def test_a_run_without_a_price_costs_what_nobody_knows(folder: Path, model: str) -> None:
    row, *_ = _run(folder, model)
    asked = ("what-if", row["run"], "--at-most", "1")

    told = whorl(*asked).stdout
    (found,) = run_json(*asked)
    sheet = list(csv.DictReader(whorl(*asked, "--csv").stdout.splitlines()))
    several = whorl("what-if", row["run"], row["run"], "--at-most", "1").stdout

    assert told.count("cost not known") == 2
    assert "$" not in told
    assert "$" not in several
    assert "on average: 2.0 iterations became 1.0, cost not known" in several
    for name in ("as_it_was", "answer"):
        assert found[name]["usage"]["cost_usd"] is None
        assert found[name]["usage"]["calls"] > 0
    assert sheet[0]["cost_usd"] == ""
    assert whorl_package.what_if(row["run"], at_most=1, config="whorl.toml").cost_usd is None


def test_the_facts_say_which_runs_have_no_price(folder: Path, model: str) -> None:
    row, *_ = _run(folder, model)
    project = find_project({"WHORL_TRUST": "1"}, folder=folder)
    with closing(project.open_store()) as store:
        study = Study(project, store, read_experiment(project, FILE), project.settings())
        loops = {name: study.loop(variant=name) for name in ("base", "other")}
        each = {
            name: facts_document(loop, study.subjects(loop, name), 0.02)["runs"]
            for name, loop in loops.items()
        }
        of_run, subject = run_facts(store, RunId(row["run"]))
        alone = facts_document(of_run, [subject], 0.02)["runs"]

    assert {run["is_priced"] for run in each["base"]} == {True}
    assert {run["is_priced"] for run in each["other"]} == {False}
    assert [run["is_priced"] for run in alone] == [False]


def test_a_judge_without_a_price_costs_its_loop_what_nobody_knows(folder: Path, model: str) -> None:
    rule = 'until: [{judge: {question: "It is short", of: write}}], at_most: 2'
    variant = f"variants:\n  other: {{model: unlisted, loops: {{polish: {{{rule}}}}}}}\n"
    _run(folder, model, EXPERIMENT.replace(VARIANTS, variant))
    asked = ("judge", FILE, "--against", "grade", *OTHER)

    found, told = run_json(*asked), whorl(*asked).stdout

    assert found["loop"]
    assert {cost for _, cost in found["loop"].values()} == {None}
    assert "$" not in told


def test_what_a_run_without_a_price_costs_is_not_known_and_not_nothing(
    folder: Path, model: str
) -> None:
    (folder / "whorl.toml").write_text(SERVED.format(url=model))
    (folder / "own.yaml").write_text(OWN.replace("MODEL", "unlisted"))
    (folder / "both.yaml").write_text(
        OWN.replace("MODEL", "unlisted").replace("outputs", "  b: {ask: Write}\noutputs")
    )
    found = run_json("run", "own.yaml")
    row, total = run_json("ls")[0], run_json("cost")["total"]

    for usage in (found["usage"], found["loops"][0]["usage"], row, total):
        assert usage["cost_usd"] is None
        assert usage["unpriced_calls"] == 2
    assert "not known" in whorl("ls").stdout

    async def result() -> whorl_package.Result:
        async with whorl_package.Session() as session:
            return await session.run(found["run"]).result()

    usage = asyncio.run(result()).usage
    assert (usage.cost_usd, usage.unpriced_calls) == (None, 2)
    # Where some are known, they are counted, and the others beside them.
    both = run_json("run", "both.yaml")["usage"]
    assert both["cost_usd"] > 0
    assert both["unpriced_calls"] == 2
    assert " + ?" in whorl("ls").stdout


def test_what_was_reserved_for_a_call_in_doubt_is_told_beside_what_is_known(folder: Path) -> None:
    (folder / "own.yaml").write_text(OWN.replace("MODEL", "scripted").replace("Write", "Guess"))
    whole = run_json("run", "own.yaml", "--budget", "9")["usage"]
    assert "reserved_usd" not in whole

    usage = {"in_doubt": 0}
    for number in range(1, 12):
        if not usage["in_doubt"] and dies_at(number, ("run", "own.yaml", "--budget", "9")):
            words = whorl("resume", "last").stderr
            usage = run_json("show", "last")["usage"]

    assert usage["in_doubt"] == 1
    known = usage["cost_usd"] - usage["reserved_usd"]
    assert known == pytest.approx(whole["cost_usd"])
    told = f"{dollars(known)}, {dollars(usage['reserved_usd'])} reserved for 1 call in doubt"
    assert told in words
