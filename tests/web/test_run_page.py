"""The page of a run: graph, iterations, nodes, banners, and what its buttons do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from browsed import picture

if TYPE_CHECKING:
    from collections.abc import Callable

    from browsed import Site
    from playwright.sync_api import Locator, Page

# The judge of a loop is asked in words of its own.
JUDGED = """
whorl: 1
name: judged
steps:
  tone:
    repeat:
      until: {judge: "Does the tone fit?"}
      at_most: 4
      steps:
        write: {ask: "Draft it"}
outputs: {text: "{{ tone.write }}"}
"""


@pytest.fixture(scope="module")
def review(site: Site) -> str:
    """A run whose loop has ended by its limit."""
    return site.ran("review.yaml", {"task": "a parser"})


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


def test_the_head_says_how_it_stands(site: Site, page: Page, review: str) -> None:
    shows(site, page, f"/runs/{review}")

    head = page.locator(".run-head").inner_text()
    assert "review" in head
    assert review in head
    assert "✓ succeeded" in head
    assert "/ $2.00" in head
    assert "tokens" in head
    buttons = page.get_by_role("group", name="steer the run").get_by_role("button")
    buttons.last.wait_for()
    assert buttons.all_inner_texts() == ["Fork…", "Re-run"]


def test_the_graph_shows_states_and_chips(site: Site, page: Page, review: str) -> None:
    shows(site, page, f"/runs/{review}")

    for path in ("plan", "refine/code", "refine/review", "report"):
        page.locator(f'[data-path="{path}"][data-status="succeeded"]').wait_for()
    loop = step(page, "refine")
    assert loop.get_attribute("data-status") == "exhausted"
    assert "4/4 · max_iterations" in loop.inner_text()
    assert "until score ≥ 0.85" in loop.inner_text()
    chips = loop.get_by_role("button", name="iteration ")
    assert chips.count() == 4
    assert chips.nth(3).get_attribute("title") == "iteration 4, succeeded, score 0.82, best"


def test_a_chip_points_everything_to_its_iteration(site: Site, page: Page, review: str) -> None:
    shows(site, page, f"/runs/{review}")

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


def test_the_panel_shows_curve_iterations_and_verdict(
    site: Site, page: Page, review: str, check_access: Callable[[Page], None]
) -> None:
    shows(site, page, f"/runs/{review}")

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
    assert page.get_by_role("link", name="Compare #3 ↔ #4").is_visible()
    check_access(page)
    picture(page, "run")


def test_the_banner_says_why_it_stopped(site: Site, page: Page, review: str) -> None:
    shows(site, page, f"/runs/{review}")

    banner = page.locator(".exit-banner")
    banner.filter(has_text="refine stopped: max_iterations").wait_for()
    assert "it reached its limit of iterations" in banner.inner_text()
    assert "returned #4, the best (0.82)" in banner.inner_text()
    assert page.get_by_text("1 warning").is_visible()
    page.get_by_title("iteration 2, ").click()
    banner.get_by_role("button", name="Return #2 instead").click()
    page.get_by_role("dialog").wait_for()
    page.keyboard.press("Escape")
    banner.get_by_role("button", name="Continue +3").click()
    page.get_by_role("dialog").wait_for()
    page.keyboard.press("Escape")
    banner.get_by_role("button", name="Fork from #4").click()
    page.get_by_role("dialog").wait_for()


def test_an_older_result_is_returned_instead(site: Site, page: Page) -> None:
    run = site.ran("review.yaml", {"task": "another parser"})
    shows(site, page, f"/runs/{run}?loop=refine&iteration=2")

    page.get_by_role("button", name="Return #2 instead").click()
    page.get_by_role("dialog").get_by_role("button", name="Accept iteration 2").click()

    page.locator(".exit-banner").filter(has_text="returned #2").wait_for()
    assert "not the last" in page.locator(".exit-banner").inner_text()


def test_a_node_shows_what_it_was_given_and_gave(
    site: Site, page: Page, review: str, check_access: Callable[[Page], None]
) -> None:
    shows(site, page, f"/runs/{review}?loop=refine&iteration=4")

    step(page, "refine/review").click()
    drawer = page.get_by_role("dialog", name="node review")
    drawer.wait_for()
    # The words of a model are words, whatever they look like.
    drawer.get_by_text("Good. <b>Keep</b> it.").wait_for()
    before = drawer.get_by_role("region", name="Iteration before (#3)")
    before.get_by_text("Clever, but harder to read than before.").wait_for()
    assert "json.loads(s.strip())" in drawer.get_by_role("region", name="Given").inner_text()
    assert "canned/scripted" in drawer.inner_text()
    assert page.evaluate("() => document.activeElement.textContent") == "review"
    check_access(page)
    picture(page, "run-node")

    page.keyboard.press("[")
    page.get_by_role("dialog", name="node code").wait_for()
    page.keyboard.press("Escape")
    drawer.wait_for(state="detached")
    assert "node=" not in page.url


def test_a_big_value_is_loaded_when_it_is_asked_for(site: Site, page: Page) -> None:
    run = site.ran("big.yaml")
    shows(site, page, f"/runs/{run}?node=show")

    given = page.get_by_role("region", name="Given")
    given.wait_for()
    assert len(given.inner_text()) < 1000
    given.get_by_role("button", name="Load all").click()
    given.get_by_role("button", name="Show all 30,006 characters").click()
    given.get_by_role("button").wait_for(state="detached")
    assert len(given.locator("pre").inner_text()) == 30_006


def test_nested_loops_are_looked_at_one_in_the_other(site: Site, page: Page) -> None:
    run = site.ran("nested.yaml", {"task": "a parser"})
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


def test_iterations_are_unrolled(site: Site, page: Page, review: str) -> None:
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
    (site.project / "judged.yaml").write_text(JUDGED)
    run = site.ran("judged.yaml")
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
    page.get_by_role("dialog", name="node plan").wait_for()
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keys")
    for label in ("next iteration", "previous node", "approve", "compare", "follow"):
        assert label in keys.inner_text()
    page.keyboard.press("Escape")
    page.keyboard.press("d")
    page.wait_for_url("**/compare?loop=refine&one=3&other=4*")


def test_the_tabs_show_timeline_journal_and_data(
    site: Site, page: Page, review: str, check_access: Callable[[Page], None]
) -> None:
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
    check_access(page)
    page.get_by_role("tab", name="Input / Output").click()
    page.get_by_role("region", name="inputs").get_by_text("a parser").wait_for()
    assert "json.loads(s.strip())" in page.get_by_role("region", name="outputs").inner_text()
    page.get_by_text("The workflow as it was").click()
    page.get_by_text("description: Writes code until").wait_for()
    check_access(page)
    assert "tab=data" in page.url


def test_a_failed_run_says_what_failed_and_is_retried(
    site: Site, page: Page, check_access: Callable[[Page], None]
) -> None:
    run = site.ran("failing.yaml")
    shows(site, page, f"/runs/{run}")

    page.locator(".banner").filter(has_text="no such model").wait_for()
    step(page, "second").click()
    page.locator(".problem-box").filter(has_text="no such model").wait_for()
    check_access(page)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Retry what failed").click()
    page.wait_for_function("() => document.querySelectorAll('.gantt .bar').length >= 3")
    step(page, "second").click()
    page.get_by_role("group", name="attempts").get_by_role("button", name="Attempt 2").wait_for()


def test_a_question_is_shown_and_answered(
    site: Site, page: Page, check_access: Callable[[Page], None]
) -> None:
    run = site.ran("asking.yaml")
    shows(site, page, f"/runs/{run}")

    banner = page.locator(".banner").filter(has_text="Waits for a person")
    banner.wait_for()
    assert "take it, or go on?" in banner.inner_text()
    assert step(page, "work").get_attribute("data-status") == "waiting"
    check_access(page)
    page.keyboard.press("a")
    page.get_by_role("dialog").wait_for()
    page.keyboard.press("Escape")
    banner.get_by_role("link", name="Look and decide").click()
    page.wait_for_url(f"**/runs/{run}/gate?address=*")


def test_a_narrow_page_still_shows_everything(site: Site, page: Page, review: str) -> None:
    page.set_viewport_size({"width": 420, "height": 800})
    shows(site, page, f"/runs/{review}")

    assert page.evaluate("() => document.documentElement.scrollWidth") <= 420
    side(page, "iterations").scroll_into_view_if_needed()
    assert side(page, "iterations").get_by_role("row").count() == 5
    picture(page, "run-narrow")
