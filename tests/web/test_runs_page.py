"""The list of runs: what it says of each, filters, paging, changes as they happen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from browsed import Site, make_project, picture

from waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Locator, Page

COSTLY = """
whorl: 1
name: costly
budget: 0.185
steps:
  turns:
    repeat:
      at_most: 6
      steps: {write: {ask: "Draft {{ 'something long ' * 250 }}", max_tokens: 20}}
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A project in which not more has run than a list shows at once."""
    with Site(make_project(tmp_path_factory.mktemp("listed") / "shop")) as site:
        yield site


@pytest.fixture
def shown(site: Site, page: Page) -> Page:
    """The page, with the list of runs."""
    site.open(page)
    return page


@pytest.fixture(scope="module")
def runs(site: Site) -> dict[str, str]:
    """One run of each kind that the list tells apart."""
    (site.project / "costly.yaml").write_text(COSTLY)
    return {
        "review": site.ran("review.yaml", {"task": "a parser"}),
        "gated": site.ran("gated.yaml"),
        "failing": site.ran("failing.yaml"),
        "costly": site.ran("costly.yaml"),
        "short": site.ran("short.yaml"),
    }


def row(page: Page, run: str) -> Locator:
    """The row of a run."""
    return page.get_by_role("row").filter(has_text=run)


def test_a_row_says_how_a_run_stands(site: Site, shown: Page, runs: dict[str, str]) -> None:
    review = row(shown, runs["review"])
    review.wait_for()

    told = review.inner_text()
    assert "refine 4/4" in told
    assert "limit of iterations" in told
    assert "0.82" in told
    assert "/ $2.00" in told
    assert review.get_by_role("img", name="scores 0.41").is_visible()
    assert review.get_by_role("meter", name="cost").is_visible()
    assert "‖ waiting" in row(shown, runs["gated"]).inner_text()
    assert "✗ failed" in row(shown, runs["failing"]).inner_text()
    picture(shown, "runs")

    # A success with a mark is no plain one.
    for name, mark in (("review", "limit"), ("short", "budget")):
        found = row(shown, runs[name])
        badge = found.locator(".badge").first
        assert badge.inner_text() == f"! {mark}"
        assert "tone-wait" in (badge.get_attribute("class") or "")
        assert "✓" not in found.inner_text()

    # A run near its budget is marked.
    costly = row(shown, runs["costly"])
    assert site.get(f"/runs/{runs['costly']}")["cost_usd"] >= 0.8 * 0.185
    assert "row-near" in (costly.get_attribute("class") or "")
    told = costly.get_by_role("meter", name="cost").get_attribute("aria-valuetext") or ""
    assert "its limit" in told
    assert "row-near" not in (row(shown, runs["review"]).get_attribute("class") or "")

    # Cost and budget are seen as a whole.
    cell = row(shown, runs["review"]).get_by_role("cell").filter(has=shown.locator(".meter"))
    right = "one => one.getBoundingClientRect().right"

    assert cell.locator(".meter-bar").evaluate(right) <= cell.evaluate(right)
    assert cell.locator(".meter").evaluate("one => getComputedStyle(one).display") == "inline-flex"
    gap = """one => one.querySelector(".figure").getBoundingClientRect().left
        - one.querySelector("svg").getBoundingClientRect().right"""
    assert row(shown, runs["review"]).locator(".score-cell").evaluate(gap) > 0


def test_runs_are_filtered_sorted_and_counted(
    site: Site, shown: Page, runs: dict[str, str]
) -> None:
    row(shown, runs["review"]).wait_for()

    # Filters are kept in the address.
    shown.get_by_label("Status").select_option("failed")
    row(shown, runs["review"]).wait_for(state="detached")
    assert row(shown, runs["failing"]).is_visible()
    assert "status=failed" in shown.url

    shown.get_by_label("Status").select_option("")
    shown.get_by_label("Workflow").select_option("gated")
    row(shown, runs["failing"]).wait_for(state="detached")
    assert row(shown, runs["gated"]).is_visible()

    shown.get_by_label("Workflow").select_option("")
    shown.get_by_label("Search").fill(runs["review"][-6:])
    row(shown, runs["gated"]).wait_for(state="detached")
    assert row(shown, runs["review"]).is_visible()

    shown.get_by_label("Search").fill("nothing of the kind")
    shown.get_by_text("No run matches these filters").wait_for()
    shown.get_by_role("button", name="Show all runs").click()
    row(shown, runs["gated"]).wait_for()
    assert shown.url.endswith("#/")

    # A run is found by its input, its day and its cost.
    assert "a parser" in row(shown, runs["review"]).inner_text()

    shown.get_by_label("Search").fill("A PARS")
    row(shown, runs["gated"]).wait_for(state="detached")
    assert row(shown, runs["review"]).is_visible()
    shown.get_by_label("Search").fill("")
    row(shown, runs["gated"]).wait_for()

    shown.get_by_label("To", exact=True).fill("2020-01-31")
    shown.get_by_text("No run matches these filters").wait_for()
    shown.get_by_label("To", exact=True).fill("")
    shown.get_by_label("From", exact=True).fill("2020-01-31")
    row(shown, runs["gated"]).wait_for()
    assert "since=2020-01-31" in shown.url

    costs = {name: site.get(f"/runs/{run}")["cost_usd"] for name, run in runs.items()}
    assert costs["gated"] < costs["review"]
    shown.get_by_label("Cost from").fill(str((costs["gated"] + costs["review"]) / 2))
    row(shown, runs["gated"]).wait_for(state="detached")
    assert row(shown, runs["review"]).is_visible()

    site.open(shown, "/")
    row(shown, runs["gated"]).wait_for()
    total = site.get("/runs")["total"]
    shown.get_by_role("button", name="Cost / budget").click()
    shown.get_by_label("highest first").wait_for()
    listed = site.get("/runs", sort="cost")["runs"]
    shown.locator("tbody tr").first.filter(has_text=listed[0]["id"]).wait_for()
    shown.get_by_role("button", name="Cost / budget").click()
    shown.get_by_label("lowest first").wait_for()
    shown.locator("tbody tr").first.filter(has_not_text=listed[0]["id"]).wait_for()

    assert "sort=cost&reverse=1" in shown.url
    assert shown.locator(".table-foot").inner_text() == f"{total} runs"
    waiting = site.get("/runs", status="waiting")["total"]
    assert shown.title().startswith(f"({waiting}) Runs")


def test_costs_are_summed_by_workflow_and_by_day(
    site: Site, page: Page, runs: dict[str, str]
) -> None:
    site.open(page, "/costs")
    by_workflow = page.get_by_role("table", name="costs by workflow")
    by_workflow.get_by_role("link", name="review").wait_for()
    days = site.get("/costs", by="day")["lines"]
    by_day = page.get_by_role("table", name="costs by day")
    by_day.get_by_text(days[-1]["name"]).wait_for()
    picture(page, "costs")
    by_workflow.get_by_role("link", name="review").click()
    row(page, runs["review"]).wait_for()

    assert row(page, runs["gated"]).count() == 0
    assert "workflow=review" in page.url


def test_runs_are_chosen_with_keys_and_clicks(
    site: Site, shown: Page, runs: dict[str, str]
) -> None:
    row(shown, runs["review"]).wait_for()

    shown.keyboard.press("j")
    shown.keyboard.press("j")
    shown.keyboard.press("k")
    chosen = shown.locator('tr[aria-selected="true"]')
    newest = site.get("/runs")["runs"][0]["id"]
    assert newest in chosen.inner_text()
    shown.keyboard.press("Enter")
    shown.wait_for_url(f"**/#/runs/{newest}*")
    site.open(shown, "/")
    row(shown, runs["review"]).click()

    shown.get_by_role("heading", name="review", exact=True).wait_for()


def test_a_run_of_another_process_appears_and_changes(site: Site, shown: Page) -> None:
    shown.locator(".live-live").wait_for()

    process = site.spawn("run", "slow.yaml", "--max-iterations", "3")
    try:
        slow = shown.get_by_role("row").filter(has_text="slow").first
        slow.filter(has_text="running").wait_for()
        slow.filter(has_text="turns 3/3").wait_for()
        slow.filter(has_text="succeeded").wait_for()
    finally:
        process.communicate(timeout=PATIENCE_S)
