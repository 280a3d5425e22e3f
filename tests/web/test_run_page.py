"""The page of a run: graph, iterations, nodes, banners, and what its buttons do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from browsed import picture
from playwright.sync_api import expect

if TYPE_CHECKING:
    from browsed import Site
    from playwright.sync_api import Locator, Page


@pytest.fixture(scope="module")
def review(site: Site) -> str:
    """A run whose loop has ended by its limit."""
    return site.example("review.yaml", {"task": "a parser"})


def shows(site: Site, page: Page, path: str) -> None:
    """Opens the page of a run, and waits for its graph and its first events."""
    site.open(page, path)
    page.locator(".piece").first.wait_for()
    page.locator(".run-title .figure").wait_for()


def step(page: Page, path: str) -> Locator:
    """A node on the canvas."""
    return page.locator(f'[data-path="{path}"]')


def side(page: Page, part: str) -> Locator:
    """A part of the panel beside the graph."""
    return page.get_by_role("region", name=part, exact=True)


def test_a_run_is_looked_at(site: Site, page: Page, review: str) -> None:
    shows(site, page, f"/runs/{review}")

    head = page.locator(".run-head").inner_text()
    assert "review" in head
    assert review in head
    assert "/ $2.00" in head
    assert "tokens" in head
    buttons = page.get_by_role("group", name="steer the run").get_by_role("button")
    buttons.last.wait_for()
    assert buttons.all_inner_texts() == ["Fork…", "Re-run"]

    for path in ("plan", "refine/code", "refine/review", "report"):
        page.locator(f'[data-path="{path}"][data-status="succeeded"]').wait_for()
    loop = step(page, "refine")
    assert loop.get_attribute("data-status") == "exhausted"
    assert "4/4 · limit of iterations" in loop.inner_text()
    assert "until score ≥ 0.85" in loop.inner_text()
    chips = loop.get_by_role("button", name="iteration ")
    assert chips.count() == 4
    assert (
        chips.nth(3).get_attribute("title") == "iteration 4, succeeded, score 0.82, best, returned"
    )

    curve = side(page, "score").get_by_role("img")
    told = curve.get_attribute("aria-label") or ""
    assert "best 0.82 in iteration 4" in told
    assert "target 0.85" in told
    assert curve.locator(".star").count() == 1
    heads = side(page, "iterations").get_by_role("columnheader").all_inner_texts()
    assert heads == ["#", "score", "Δ", "time", "tok", "cost", "verdict"]
    assert side(page, "iterations").get_by_role("row").count() == 5
    page.get_by_text("Fed back into #4").click()
    side(page, "verdict").get_by_text("Clever, but harder to read than before.").wait_for()
    assert page.get_by_role("link", name="Diff #3 ↔ #4").is_visible()
    # The words of reviewers stand in the table.
    side(page, "iterations").get_by_text("No test, and an empty text fails.").wait_for()
    side(page, "iterations").get_by_text("Good. <b>Keep</b> it.").wait_for()
    picture(page, "run")

    banner = page.locator(".exit-banner")
    banner.filter(has_text="it reached its limit of iterations").wait_for()
    assert "returned #4, the best (0.82)" in banner.inner_text()
    # A success with a mark is no plain one.
    badge = page.locator(".run-title .badge")
    assert badge.inner_text() == "! limit"
    assert "before its condition was met" in (badge.get_attribute("title") or "")
    assert page.locator(".run-head, .banners").filter(has_text="✓ succeeded").count() == 0
    for marked in (badge, page.locator(".banner").filter(has_text="! limit")):
        assert "tone-wait" in (marked.get_attribute("class") or "")
    assert page.get_by_text("1 warning").is_visible()
    # A chip points everything to its iteration.
    page.get_by_title("iteration 2, ").click()

    verdict = page.get_by_role("region", name="verdict")
    verdict.filter(has_text="score 0.63 < 0.85").wait_for()
    assert "iteration=2" in page.url
    assert page.get_by_label("iteration number").input_value() == "2"
    assert page.locator(".gantt .column-chosen text").text_content() == "#2"
    chosen = page.locator('.side-iterations tr[aria-selected="true"]')
    assert chosen.inner_text().split() == ["2", "0.63", "+0.22", *chosen.inner_text().split()[3:]]
    assert page.get_by_role("button", name="follow latest").get_attribute("aria-pressed") == "false"
    step(page, "refine/code").click()
    page.get_by_text("refine[2]/code", exact=True).wait_for()
    page.keyboard.press("Escape")
    page.locator(".drawer").wait_for(state="detached")
    for name in ("Accept #2 instead", "Continue +3", "Fork from #4"):
        banner.get_by_role("button", name=name).click()
        page.get_by_role("dialog").wait_for()
        page.keyboard.press("Escape")


def test_a_node_shows_what_it_was_given_and_gave(site: Site, page: Page, review: str) -> None:
    shows(site, page, f"/runs/{review}?loop=refine&iteration=4")

    step(page, "refine/review").click()
    drawer = page.get_by_role("dialog", name="step review")
    drawer.wait_for()
    # The words of a model are words, whatever they look like.
    drawer.get_by_text("Good. <b>Keep</b> it.").wait_for()
    before = drawer.get_by_role("region", name="Iteration before (#3)")
    before.get_by_text("Clever, but harder to read than before.").wait_for()
    assert "json.loads(s.strip())" in drawer.get_by_role("region", name="Given").inner_text()
    assert "canned/scripted" in drawer.inner_text()
    assert page.evaluate("() => document.activeElement.textContent") == "review"
    picture(page, "run-node")

    page.keyboard.press("[")
    page.get_by_role("dialog", name="step code").wait_for()
    page.keyboard.press("Escape")
    drawer.wait_for(state="detached")
    assert "node=" not in page.url


@pytest.mark.slow
def test_a_big_value_is_loaded_when_it_is_asked_for(site: Site, page: Page) -> None:
    run = site.ran("big.yaml")
    shows(site, page, f"/runs/{run}?node=show")

    given = page.get_by_role("region", name="Given")
    given.wait_for()
    assert len(given.inner_text()) < 1000
    given.get_by_role("button", name="Load all").click()
    given.get_by_role("button", name="Show all 30,006 characters").click()
    given.get_by_role("button", name="Show all").wait_for(state="detached")
    assert len(given.locator("pre").inner_text()) == 30_006


def test_nested_loops_are_looked_at_one_in_the_other(site: Site, page: Page, review: str) -> None:
    run = site.example("nested.yaml", {"task": "a parser"})
    shows(site, page, f"/runs/{run}")

    page.get_by_role("group", name="iterations of draft").get_by_role("button").first.click()
    page.get_by_role("group", name="iterations of fix").get_by_role("button").first.click()

    assert "loop=draft%5B1%5D%2Ffix&iteration=1" in page.url
    step(page, "draft/fix/check").click()
    page.get_by_text("draft[1]/fix[1]/check", exact=True).wait_for()
    page.keyboard.press("Escape")
    page.get_by_label("loop", exact=True).select_option("draft")
    assert "score" in side(page, "score").inner_text().lower()
    picture(page, "run-nested")

    # Iterations are unrolled.
    shows(site, page, f"/runs/{review}")
    page.get_by_role("button", name="Unrolled").click()
    step(page, "refine[2]/code").click()
    page.get_by_text("refine[2]/code", exact=True).wait_for()
    assert "#2 0.63" in step(page, "refine[2]").inner_text()
    assert step(page, "refine[4]/review").get_attribute("data-status") == "succeeded"
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Aggregated").click()
    step(page, "refine/code").wait_for()


def test_the_judge_is_heard(site: Site, page: Page) -> None:
    run = site.example("tone.yaml")
    shows(site, page, f"/runs/{run}?loop=tone&iteration=1")

    verdict = side(page, "verdict")
    verdict.filter(has_text="not met").wait_for()
    assert "the tone does not fit" in verdict.inner_text()
    assert "canned/scripted" in verdict.inner_text()
    verdict.get_by_text("Judge’s prompt").click()
    verdict.get_by_text("Does the tone fit?").last.wait_for()
    page.locator(".exit-banner").filter(has_text="the judge said yes").wait_for()


def test_keys_move_through_iterations_and_nodes(site: Site, page: Page, review: str) -> None:
    shows(site, page, f"/runs/{review}")

    page.keyboard.press("k")
    page.keyboard.press("k")
    page.keyboard.press("j")
    page.wait_for_function("() => location.hash.includes('iteration=3')")
    page.keyboard.press("f")
    page.wait_for_function("() => !location.hash.includes('iteration')")
    page.keyboard.press("]")
    page.get_by_role("dialog", name="step plan").wait_for()
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keys")
    for label in ("next iteration", "previous step", "approve", "diff", "follow"):
        assert label in keys.inner_text()
    page.keyboard.press("Escape")
    page.keyboard.press("d")
    page.wait_for_url("**/diff?loop=refine&one=3&other=4*")


def test_the_tabs_show_timeline_journal_and_data(site: Site, page: Page, review: str) -> None:
    shows(site, page, f"/runs/{review}")

    page.get_by_role("tab", name="Timeline").click()
    page.get_by_role("button", name="report: succeeded").wait_for()
    page.get_by_role("button", name="refine[2]/code: succeeded").click()
    page.get_by_text("refine[2]/code", exact=True).wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("tab", name="Timeline").press("ArrowRight")
    page.get_by_role("row").filter(has_text="run.started").wait_for()
    page.get_by_label("Search the journal").fill("loop.finished")
    page.get_by_role("row").filter(has_text="loop.finished").click()
    page.get_by_role("region", name="event ").get_by_text("max_iterations").wait_for()
    page.get_by_role("tab", name="Input / Output").click()
    page.get_by_role("region", name="inputs").get_by_text("a parser").wait_for()
    assert "json.loads(s.strip())" in page.get_by_role("region", name="outputs").inner_text()
    page.get_by_text("The workflow as it was").click()
    page.get_by_text("description: Writes code until").wait_for()
    assert "tab=data" in page.url


def test_a_failed_run_says_what_failed_and_is_retried(site: Site, page: Page) -> None:
    run = site.ran("failing.yaml")
    shows(site, page, f"/runs/{run}")

    page.locator(".banner").filter(has_text="no such model").wait_for()
    step(page, "second").click()
    page.locator(".problem-box").filter(has_text="no such model").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Retry what failed").click()
    page.wait_for_function("() => document.querySelectorAll('.gantt .bar').length >= 3")
    step(page, "second").click()
    page.get_by_role("group", name="attempts").get_by_role("button", name="Attempt 2").wait_for()


@pytest.mark.slow
def test_defaults_that_were_used_are_shown(site: Site, page: Page) -> None:
    run = site.example("order.yaml", {"topic": "bees"})
    site.open(page, f"/runs/{run}?tab=data")
    inputs = page.get_by_role("region", name="inputs")
    inputs.get_by_text("Not given: the defaults of the file").wait_for()
    told = inputs.inner_text()

    assert "bees" in told
    assert "pages" in told
    assert page.locator(".live").count() == 0
    assert page.title().startswith("order succeeded")


@pytest.mark.slow
def test_a_finished_run_is_shown_as_finished_before_its_journal_is_read(
    site: Site, page: Page, review: str
) -> None:
    found = site.get(f"/runs/{review}")
    # The journal never comes.
    page.route(f"**/api/runs/{review}/events*", lambda route: None)
    site.open(page, f"/runs/{review}")

    expect(page.get_by_text("Reading the journal")).to_be_visible()
    expect(page.locator(".run-title .badge")).to_contain_text("limit")
    expect(page.locator(".run-spent")).to_contain_text(f"{found['cost_usd']:.3f}")
    expect(page.get_by_role("button", name="Stop after this iteration")).to_have_count(0)
    expect(page.locator(".side")).to_have_count(0)
