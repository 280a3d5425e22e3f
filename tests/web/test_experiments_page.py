"""Experiments on the page, over a real one: variants, cases, other rules, the judge, grading."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from browsed import ROOT, Site, picture

from waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

EXAMPLE = ROOT / "examples" / "experiment"

# A judge in the loop, labels by an expression, and a person.
JUDGED = """
experiment: 1
name: judged
workflow: judged.yaml
cases: [{id: a}, {id: b}, {id: c}]
grade:
  right: "'thirsty' in outputs.text"
  taste: {person: "Would you send this?", show: "{{ outputs.text }}"}
explore: {work: 2}
"""
WORKFLOW = """
whorl: 1
name: judged
steps:
  work:
    repeat:
      until: {judge: "Is it good?"}
      at_most: 2
      steps: {write: {ask: "Judged draft {{ iteration }}"}}
outputs: {text: "{{ work.write }}"}
"""
REPLIES = """
[[rules]]
match = "^Judged draft"
replies = ["a thirsty text"]

[[rules]]
match = "^You judge"
replies = ["NO, it is short.", "YES, it is fine."]
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The example of the guide, served, with all that it found."""
    project = tmp_path_factory.mktemp("site") / "study"
    shutil.copytree(EXAMPLE, project)
    shutil.copy(project / "scripted.toml", project / "whorl.toml")
    (project / "replies.toml").write_text(REPLIES + (project / "replies.toml").read_text())
    with Site(project) as site:
        site.post("/experiments", {"file": "describe.experiment.yaml"})
        wait_until(lambda: site.get("/experiments/describe")["state"] == "done")
        yield site


def test_experiments_are_listed_and_cases_lead_to_their_runs(site: Site, page: Page) -> None:
    site.open(page, "/experiments")

    row = page.get_by_role("row").filter(has_text="describe")
    row.get_by_text("done").wait_for()
    row.get_by_text("32 of 32").wait_for()
    row.get_by_text("patient 0.95 (+0.34, better)").wait_for()
    row.get_by_role("link", name="describe").click()

    better = page.get_by_role("region", name="variants").get_by_role("row", name="patient")
    better.get_by_text("+0.34 (0.19 to 0.48) better").wait_for()
    better.get_by_role("img", name="0.95, 95 %: 0.90 to 1.00").wait_for()
    cases = page.get_by_role("region", name="cases by variant")
    rows = cases.get_by_role("row")
    assert rows.count() == 17
    assert "+0.75" in rows.nth(1).inner_text()
    picture(page, "experiment-compare")
    found = site.get("/experiments/describe/cases")["cases"][0]["cells"]["patient"]["trials"][0]
    rows.nth(1).get_by_role("button", name="compare").click()
    pair = page.get_by_role("region", name="two results side by side")
    pair.get_by_role("table", name="text of base and patient").wait_for()
    rows.nth(1).get_by_role("link", name=f"#{found['returned']} of").last.click()
    page.get_by_text(found["run"], exact=True).wait_for()


@pytest.mark.slow
def test_a_run_is_asked_what_another_rule_would_have_done(site: Site, page: Page) -> None:
    trials = site.get("/experiments/describe/cases")["cases"][0]["cells"]["patient"]["trials"]
    site.open(page, f"/runs/{trials[0]['run']}")

    page.get_by_text("What if the loop had another rule?").click()
    page.get_by_label("at most").fill("1")
    page.get_by_role("status").filter(has_text="1 iteration, returns #1").wait_for()
    page.get_by_text(f"whorl experiment what-if {trials[0]['run']} --at-most 1").wait_for()


def test_a_judge_is_weighed_and_people_grade_blindly(site: Site, page: Page) -> None:
    (site.project / "judged.yaml").write_text(WORKFLOW)
    (site.project / "judged.experiment.yaml").write_text(JUDGED)
    site.open(page, "/experiments/judged")
    page.get_by_role("button", name="Run", exact=True).click()
    wait_until(lambda: site.get("/experiments/judged")["people"] > 0)

    site.open(page, "/experiments/judged?tab=judge")
    page.get_by_role("table").filter(has_text="What it said").wait_for()
    page.get_by_text("It agrees in").wait_for()
    differ = page.get_by_role("region", name="where they differ")
    differ.get_by_text("it is short.").first.wait_for()
    picture(page, "experiment-judge")
    site.open(page, "/experiments/judged?tab=grade")
    page.get_by_role("heading", name="Would you send this?").wait_for()
    assert "base" not in page.get_by_role("region", name="a result to grade").inner_text()
    waiting = site.get("/experiments/judged")["people"]
    page.locator("main").press("y")
    wait_until(lambda: site.get("/experiments/judged")["people"] < waiting)


COUNTING = """
whorl: 1
name: counting
inputs: {n: integer}
steps:
  work:
    repeat:
      until: say >= n
      at_most: 4
      steps:
        say: {value: "{{ iteration }}"}
        sum: {value: "{{ 1 / (0 if n == 3 and iteration == 2 else 1) }}"}
outputs: {number: "{{ work.say }}"}
"""
FAILING = """
experiment: 1
name: failing
workflow: counting.yaml
cases: [{n: 1}, {n: 3}, {n: 4}]
variants: {shorter: {loops: {work: {at_most: 1}}}}
grade: "outputs.number / 4"
explore: {work: 4}
"""


@pytest.mark.slow
def test_failures_and_other_versions_are_reported_and_few_cases_are_enough(
    site: Site, page: Page
) -> None:
    flow = site.project / "counting.yaml"
    flow.write_text(COUNTING)
    (site.project / "failing.experiment.yaml").write_text(FAILING)
    for tab in ("", "?tab=what-if", "?tab=judge"):
        site.open(page, f"/experiments/failing{tab}")
        page.get_by_text("Nothing has run yet.").wait_for()
    site.open(page, "/experiments/failing")
    page.get_by_role("button", name="Run", exact=True).click()
    wait_until(lambda: site.get("/experiments/failing")["state"] == "done")

    page.get_by_text("base: 1 of 3 trials failed (R104): graded 0").wait_for()
    cases = page.get_by_role("region", name="cases by variant")
    failed = cases.get_by_role("row").filter(
        has=page.get_by_role("rowheader", name="2", exact=True)
    )
    failed.get_by_role("link", name="failed").wait_for()
    assert failed.get_by_role("button", name="compare").count() == 0
    assert cases.get_by_role("button", name="compare").count() == 2
    site.open(page, "/experiments/failing?tab=what-if")
    page.get_by_text("1 of 3 runs failed in the loop").wait_for()
    page.set_viewport_size({"width": 390, "height": 844})
    page.get_by_label("at most").fill("2")
    row = page.get_by_role("region", name="iterations by case").get_by_role("row").nth(2)
    assert row.inner_text().split()[:4] == ["2", "–", "failed", "0.00"]
    assert page.evaluate("() => document.documentElement.scrollWidth - innerWidth") <= 0
    assert page.locator(".case-answers .table-frame").evaluate(
        "node => node.getBoundingClientRect().right <= innerWidth"
    )
    flow.write_text(COUNTING.replace("name: counting", "name: counted"))
    site.open(page, "/experiments/failing")
    page.get_by_text("6 runs are of removed cases or variants").wait_for()
