"""Comparing iterations: pickers, views, figures, the matrix, keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from browsed import picture
from playwright.sync_api import expect

if TYPE_CHECKING:
    from browsed import Site
    from playwright.sync_api import Page


@pytest.fixture(scope="module")
def run(site: Site) -> str:
    """A run with four scored iterations."""
    return site.example("review.yaml", {"task": "a parser"})


@pytest.fixture
def compared(site: Site, run: str, page: Page) -> Page:
    """The comparison of iterations 2 and 4."""
    site.open(page, f"/runs/{run}/diff?loop=refine&one=2&other=4&node=code")
    page.get_by_role("table", name="changes of code").wait_for()
    return page


def test_two_iterations_stand_beside_each_other(compared: Page, site: Site, run: str) -> None:
    diff = compared.get_by_role("table", name="changes of code from #2 to #4")

    expect(diff.locator(".diff-text.diff-removed")).to_have_text(["-    return json.loads(s)"])
    expect(diff.locator(".diff-text.diff-added")).to_have_text(
        ["+    return json.loads(s.strip())"]
    )
    expect(compared.get_by_text("similarity")).to_contain_text("0.9")
    picture(compared, "compare")

    # A flag of the command is not broken in two.
    command = compared.locator(".compare-side .same-command code")

    expect(command).to_have_text(f"whorl diff {run} 2 4 --step code --at refine")
    lines = "flags => flags.map(one => [one.textContent, one.getClientRects().length])"
    flags = command.locator(".command-flag").evaluate_all(lines)
    assert flags == [["--step", 1], ["--at", 1]]
    told = site.get(f"/runs/{run}/diff", at="refine", one=2, other=4)
    figures = compared.get_by_role("table", name="figures")

    expect(figures.get_by_role("row", name="score", exact=False).first).to_contain_text("0.63")
    expect(figures.get_by_role("row", name="score", exact=False).first).to_contain_text("+0.19")
    expect(figures.get_by_role("row", name="tokens")).to_contain_text(str(told["one"]["tokens"]))
    expect(figures.get_by_role("row", name="cost")).to_contain_text("$")
    expect(figures.get_by_role("row", name="time")).to_contain_text("s")
    side = compared.get_by_role("complementary", name="figures")

    expect(side).to_contain_text("Given to #4")
    expect(side).to_contain_text("Clever, but harder to read than before.")
    expect(side).to_contain_text("whorl diff")


def test_iterations_results_and_views_are_picked(compared: Page) -> None:
    compared.get_by_label("Before").select_option("1")
    compared.get_by_role("table", name="changes of code from #1 to #4").wait_for()
    compared.get_by_label("Result of").select_option("review.feedback")
    compared.get_by_role("table", name="changes of review.feedback from #1 to #4").wait_for()

    assert "one=1" in compared.url
    assert "node=review.feedback" in compared.url
    compared.get_by_label("split").check(force=True)
    compared.locator("table.diff-split").wait_for()
    picture(compared, "compare-split")
    compared.get_by_label("rendered").check(force=True)
    region = compared.get_by_role("region", name="iteration 4")

    expect(region).to_contain_text("Good. <b>Keep</b> it.")
    assert region.locator("b").count() == 0
    picture(compared, "compare-rendered")
    compared.get_by_label("unified").check(force=True)
    matrix = compared.get_by_role("region", name="changes by iteration")
    expect(matrix.get_by_role("columnheader")).to_have_text(["result", "1", "2", "3", "4"])
    matrix.get_by_role("button", name="code, iteration 3").click()
    compared.get_by_role("table", name="changes of code from #2 to #3").wait_for()

    expect(matrix.get_by_role("button", name="code, iteration 3")).to_have_attribute(
        "aria-pressed", "true"
    )

    compared.locator("h1").first.click()
    compared.keyboard.press("j")
    compared.get_by_role("table", name="changes of code from #2 to #4").wait_for()
    compared.keyboard.press("k")
    compared.get_by_role("table", name="changes of code from #2 to #3").wait_for()
    compared.keyboard.press("]")
    compared.get_by_role("table", name="changes of review from #2 to #3").wait_for()
    compared.keyboard.press("[")
    compared.keyboard.press("j")
    compared.keyboard.press("d")
    compared.get_by_role("table", name="changes of code from #3 to #4").wait_for()
    compared.keyboard.press("v")
    compared.locator("table.diff-split").wait_for()


def test_without_a_pair_the_last_two_of_a_loop_are_compared(
    site: Site, run: str, page: Page
) -> None:
    site.open(page, f"/runs/{run}/diff")
    page.get_by_role("table", name="from #3 to #4").wait_for()
    nested = site.example("nested.yaml", {"task": "a parser"})
    site.open(page, f"/runs/{nested}/diff")
    page.get_by_label("Loop", exact=True).select_option("draft[1]/fix")
    page.get_by_role("table", name="changes of check from #1 to #2").wait_for()
    gated = site.example("gated.yaml")
    site.open(page, f"/runs/{gated}/diff")
    expect(page.get_by_role("heading", name="This run has no loop")).to_be_visible()
