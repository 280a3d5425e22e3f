"""Comparing iterations: pickers, views, figures, the matrix, keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from browsed import picture
from playwright.sync_api import expect

if TYPE_CHECKING:
    from collections.abc import Callable

    from browsed import Site
    from playwright.sync_api import Page


@pytest.fixture(scope="module")
def run(site: Site) -> str:
    """A run with four scored iterations."""
    return site.ran("review.yaml", {"task": "a parser"})


@pytest.fixture
def compared(site: Site, run: str, page: Page) -> Page:
    """The comparison of iterations 2 and 4."""
    site.open(page, f"/runs/{run}/compare?loop=refine&one=2&other=4&node=code")
    page.get_by_role("table", name="changes of code").wait_for()
    return page


def test_a_difference_is_shown_line_by_line(compared: Page) -> None:
    diff = compared.get_by_role("table", name="changes of code from #2 to #4")

    expect(diff.locator(".diff-text.diff-removed")).to_have_text(["-    return json.loads(s)"])
    expect(diff.locator(".diff-text.diff-added")).to_have_text(
        ["+    return json.loads(s.strip())"]
    )
    expect(compared.get_by_text("similarity")).to_contain_text("0.9")
    picture(compared, "compare")
    compared.emulate_media(color_scheme="dark")
    picture(compared, "compare-dark")


def test_a_flag_of_the_command_is_not_broken_in_two(compared: Page, run: str) -> None:
    command = compared.locator(".compare-side .same-command code")

    expect(command).to_have_text(f"whorl diff {run} 2 4 --node code --at refine")
    lines = "flags => flags.map(one => [one.textContent, one.getClientRects().length])"
    flags = command.locator(".command-flag").evaluate_all(lines)
    assert flags == [["--node", 1], ["--at", 1]]


def test_figures_stand_side_by_side(compared: Page, site: Site, run: str) -> None:
    told = site.get(f"/runs/{run}/compare", loop="refine", one=2, other=4)
    figures = compared.get_by_role("table", name="figures")

    expect(figures.get_by_role("row", name="score", exact=False).first).to_contain_text("0.63")
    expect(figures.get_by_role("row", name="score", exact=False).first).to_contain_text("+0.19")
    expect(figures.get_by_role("row", name="tokens")).to_contain_text(str(told["one"]["tokens"]))
    expect(figures.get_by_role("row", name="cost")).to_contain_text("$")
    expect(figures.get_by_role("row", name="time")).to_contain_text("s")


def test_feedback_that_was_given_is_told_as_text(compared: Page) -> None:
    side = compared.get_by_role("complementary", name="figures")

    expect(side).to_contain_text("Given to #4")
    expect(side).to_contain_text("Clever, but harder to read than before.")
    expect(side).to_contain_text("whorl diff")


def test_iterations_and_results_are_picked(compared: Page) -> None:
    compared.get_by_label("Before").select_option("1")
    compared.get_by_role("table", name="changes of code from #1 to #4").wait_for()
    compared.get_by_label("Result of").select_option("review.feedback")
    compared.get_by_role("table", name="changes of review.feedback from #1 to #4").wait_for()

    assert "one=1" in compared.url
    assert "node=review.feedback" in compared.url


def test_split_and_rendered_show_text_never_markup(compared: Page) -> None:
    compared.get_by_label("Result of").select_option("review.feedback")
    compared.get_by_label("split").check(force=True)
    compared.locator("table.diff-split").wait_for()
    picture(compared, "compare-split")
    compared.get_by_label("rendered").check(force=True)
    region = compared.get_by_role("region", name="iteration 4")

    expect(region).to_contain_text("Good. <b>Keep</b> it.")
    assert region.locator("b").count() == 0
    picture(compared, "compare-rendered")


def test_a_cell_of_the_matrix_opens_its_difference(compared: Page) -> None:
    matrix = compared.get_by_role("region", name="changes by iteration")
    expect(matrix.get_by_role("columnheader")).to_have_text(["result", "1", "2", "3", "4"])
    matrix.get_by_role("button", name="code, iteration 3").click()
    compared.get_by_role("table", name="changes of code from #2 to #3").wait_for()

    expect(matrix.get_by_role("button", name="code, iteration 3")).to_have_attribute(
        "aria-pressed", "true"
    )


def test_keys_go_through_iterations_results_and_views(compared: Page) -> None:
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


def test_without_a_pair_the_last_two_are_compared(site: Site, run: str, page: Page) -> None:
    site.open(page, f"/runs/{run}/compare")

    page.get_by_role("table", name="from #3 to #4").wait_for()


def test_loops_inside_loops_are_compared_too(site: Site, page: Page) -> None:
    nested = site.ran("nested.yaml", {"task": "x"})
    site.open(page, f"/runs/{nested}/compare")
    page.get_by_label("Loop", exact=True).select_option("draft[1]/fix")

    page.get_by_role("table", name="changes of check from #1 to #2").wait_for()


def test_old_iterations_of_a_long_run_are_compared(site: Site, page: Page) -> None:
    many = site.ran("many.yaml")
    site.open(page, f"/runs/{many}/compare")
    page.get_by_role("table", name="from #999 to #1000").wait_for()
    page.get_by_label("Before").fill("3")
    page.keyboard.press("Enter")

    page.get_by_role("table", name="from #3 to #1000").wait_for()


def test_a_run_without_a_pair_says_so(site: Site, page: Page) -> None:
    gated = site.ran("gated.yaml")
    site.open(page, f"/runs/{gated}/compare")

    expect(page.get_by_role("heading", name="This run has no loop")).to_be_visible()


def test_anybody_can_use_it(compared: Page, check_access: Callable[[Page], None]) -> None:
    check_access(compared)
