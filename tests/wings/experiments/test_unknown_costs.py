"""What rules and judges cost is not known where a model has no price: never nothing in silence."""

from __future__ import annotations

import asyncio
import csv
from contextlib import closing
from pathlib import Path

import whorl as whorl_package
from experiments.guess import EXPERIMENT, FILE, VARIANTS, run_json, whorl
from experiments.served import SERVED
from whorl.runtimes.journal.journal import RunId
from whorl.runtimes.sqlite import SqliteStore
from whorl.wings.experiments.what_if.query import facts_document, run_facts

UNLISTED = EXPERIMENT.replace(VARIANTS, "variants:\n  other: {model: unlisted}\n")
OTHER = ("--variant", "other")
OWN = """
whorl: 1
name: own
steps:
  l: {repeat: {until: iteration == 2, steps: {a: {ask: "Write {{ iteration }}", model: MODEL}}}}
outputs: {text: "{{ l.a }}"}
"""


def _run(url: str, text: str = UNLISTED) -> list[dict[str, str]]:
    """Runs three cases; gives the trials of the variant whose model has no price."""
    Path("whorl.toml").write_text(SERVED.format(url=url))
    Path("cases.csv").write_text("n\n1\n2\n3\n")
    Path(FILE).write_text(text)
    done = whorl("experiment", "run", FILE)
    assert "no price is known for served/unlisted, so their cost is not counted" in done.stderr
    found = run_json("experiment", "report", FILE)
    return [row for row in found["rows"] if row["variant"] == "other"]


def test_the_cost_of_a_model_without_a_price_is_not_known(model: str) -> None:
    """In the report and the gate, by rules, by one run, in sheets, pictures and facts."""
    row, *_ = _run(model, UNLISTED + "gate: {margin: 0.9, cost: 2}\n")

    ran = whorl("experiment", "run", FILE)
    assert " + ?" in whorl("experiment", "ls").stdout
    report = run_json("experiment", "report", FILE)
    sheet = csv.DictReader(whorl("experiment", "report", FILE, "--csv").stdout.splitlines())
    gate = whorl("experiment", "gate", FILE, *OTHER, "--against", "base").stdout
    why = "no price for served/unlisted; set [prices.MODEL] in whorl.toml"
    note = f"the cost of 3 trials of 'other' is not known: {why}"
    assert report["notes"] == [note]
    assert note in ran.stdout
    line, *_ = [line for line in ran.stdout.splitlines() if line.startswith("other ")]
    assert line.count("not known") == 2
    costs = {name: one["cost_usd"]["value"] for name, one in report["variants"].items()}
    assert (costs["base"] > 0, costs["other"]) == (True, None)
    assert {each["cost_usd"] for each in sheet if each["variant"] == "other"} == {""}
    assert "cost times" not in gate
    assert "costs are not compared: a model has no price" in gate

    base, found = (run_json("experiment", "what-if", FILE, *more) for more in ((), OTHER))
    table = whorl("experiment", "what-if", FILE, *OTHER).stdout
    rules = list(
        csv.DictReader(whorl("experiment", "what-if", FILE, *OTHER, "--csv").stdout.splitlines())
    )
    for each, is_priced in ((base, True), (found, False)):
        rows = [*each["rules"], *each["ideal"].values()]
        assert each["rules"]
        assert {one["cost_usd"] is not None for one in rows} == {is_priced}
        assert any(one["is_frontier"] for one in each["rules"]) == is_priced
    assert note in table
    assert not any(words in table for words in ("recommended:", "$", "on the frontier"))
    for words in ("yours", "no loop at all"):
        line, *_ = [line for line in table.splitlines() if words in line]
        assert line.count("not known") == 1
    assert {one["cost_usd"] for one in rules} == {""}
    assert {one["grade"] for one in rules} != {""}
    assert "not known" not in whorl("experiment", "what-if", FILE).stdout

    asked = ("experiment", "what-if", row["run"], "--at-most", "1")
    told, (found,) = whorl(*asked).stdout, run_json(*asked)
    several = whorl("experiment", "what-if", row["run"], *asked[2:]).stdout
    (one,) = csv.DictReader(whorl(*asked, "--csv").stdout.splitlines())
    assert told.count("cost not known") == 2
    assert "$" not in told + several
    assert "on average: 2.0 iterations became 1.0, cost not known" in several
    for name in ("as_it_was", "answer"):
        assert found[name]["usage"]["cost_usd"] is None
        assert found[name]["usage"]["calls"] > 0
    assert one["cost_usd"] == ""
    assert whorl_package.what_if(row["run"], at_most=1, config="whorl.toml").cost_usd is None

    with closing(SqliteStore(Path(".whorl/whorl.db"))) as store:
        loop, subject = run_facts(store, RunId(row["run"]))
    (facts,) = facts_document(loop, [subject], 0.02)["runs"]
    assert not facts["is_priced"]


def test_what_a_run_without_a_price_costs_is_not_known_and_not_nothing(model: str) -> None:
    Path("whorl.toml").write_text(SERVED.format(url=model))
    unlisted = OWN.replace("MODEL", "unlisted")
    Path("own.yaml").write_text(unlisted)
    Path("both.yaml").write_text(unlisted.replace("outputs", "  b: {ask: Write}\noutputs"))
    found = run_json("run", "own.yaml")
    row, total = run_json("ls")[0], run_json("runs", "cost")["total"]

    for usage in (found["usage"], found["loops"][0]["usage"], row, total):
        assert (usage["cost_usd"], usage["unpriced_calls"]) == (None, 2)
    assert "not known" in whorl("ls").stdout

    async def result() -> whorl_package.Result:
        async with whorl_package.Session() as session:
            return await session.run(found["run"]).result()

    used = asyncio.run(result()).usage
    assert (used.cost_usd, used.unpriced_calls) == (None, 2)
    # Where some are known, they are counted, and the others beside them.
    both = run_json("run", "both.yaml")["usage"]
    assert both["cost_usd"] > 0
    assert both["unpriced_calls"] == 2
    assert " + ?" in whorl("ls").stdout


def test_an_experiment_without_prices_never_costs_nothing(model: str) -> None:
    """Its progress, the list of experiments and their JSON say that the cost is not known."""
    Path("whorl.toml").write_text(SERVED.format(url=model).replace('model = "hash"', 'model = "x"'))
    Path("cases.csv").write_text("n\n1\n2\n")
    Path(FILE).write_text(EXPERIMENT.replace(VARIANTS, ""))

    ran = whorl("experiment", "run", FILE)

    assert "2 of 2 trials, cost not known" in ran.stderr
    assert "$0.00" not in ran.stderr
    assert "cost not known" in whorl("experiment", "ls").stdout
    assert [one["cost_usd"] for one in run_json("experiment", "ls")] == [None]
