"""Taking the wheel in dialogs: accept, continue, fork; one call each, with its command."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from browsed import picture
from playwright.sync_api import expect

if TYPE_CHECKING:
    from collections.abc import Callable

    from browsed import Site
    from playwright.sync_api import Locator, Page


@pytest.fixture
def run(site: Site, page: Page) -> str:
    """A finished run of four iterations, and the comparison of its last two."""
    run = site.ran("review.yaml", {"task": "a parser"})
    site.open(page, f"/runs/{run}/diff?loop=refine&one=2&other=3")
    page.get_by_role("group", name="actions").get_by_role("button").first.wait_for()
    return run


def opened(page: Page, button: str) -> Locator:
    """The dialog that a button opens."""
    page.get_by_role("button", name=button).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Close").wait_for()
    return dialog


def test_the_dialogs_say_what_they_would_do(
    site: Site, page: Page, check_access: Callable[[Page], None]
) -> None:
    run = site.example("review.yaml", {"task": "a parser"})
    site.open(page, f"/runs/{run}/diff?loop=refine&one=2&other=3")
    dialog = opened(page, "Accept #2")
    expect(dialog).to_contain_text(f"whorl accept {run} --iteration 2 --at refine")
    picture(page, "dialog-accept")
    dialog.get_by_label("Iteration of refine").select_option("1")
    expect(dialog).to_contain_text("score 0.41 < 0.85")
    expect(dialog.get_by_role("button", name="Accept iteration 1")).to_be_visible()

    # The page behind takes no keys; focus stays inside, and comes back.
    dialog.get_by_role("button", name="Close").focus()
    page.keyboard.press("k")
    assert "other=3" in page.url
    inside = "() => document.querySelector('dialog').contains(document.activeElement)"
    for _ in range(8):
        assert page.evaluate(f"() => document.activeElement === document.body || ({inside})()"), run
        page.keyboard.press("Tab")
    page.keyboard.press("Escape")
    dialog.wait_for(state="detached")
    expect(page.get_by_role("button", name="Accept #2")).to_be_focused()

    opened(page, "Continue")
    dialog.get_by_label("More iterations").fill("")
    expect(dialog.get_by_role("button", name="Continue")).to_be_disabled()
    expect(dialog).to_contain_text("Enter more iterations")
    assert run in dialog.locator(".same-command").inner_text()
    page.keyboard.press("Escape")

    opened(page, "Fork from #3")
    check_access(page)
    dialog.get_by_label("Redo from iteration").select_option("4")
    expect(dialog.get_by_label("feedback")).to_have_value("Clever, but harder to read than before.")
    expect(dialog).to_contain_text(f"whorl fork {run} --at 'refine[4]'")


def test_a_loop_is_continued(site: Site, page: Page, run: str) -> None:
    dialog = opened(page, "Continue")
    dialog.get_by_label("More iterations").fill("2")
    dialog.get_by_label("More budget").fill("0.25")
    command = f"whorl continue {run} --iterations 2 --budget +0.25 --at refine"
    expect(dialog).to_contain_text(command)
    picture(page, "dialog-continue")
    dialog.get_by_role("button", name="Continue").click()
    dialog.wait_for(state="detached")

    found = site.wait(run, "succeeded")
    assert (found["iteration"], found["budget_usd"]) == (6, 2.25)


def test_a_fork_redoes_an_iteration_with_other_values(site: Site, page: Page, run: str) -> None:
    dialog = opened(page, "Fork from #3")
    feedback = dialog.get_by_label("feedback")
    expect(feedback).to_have_value("An empty text works; blanks around it do not.")
    expect(dialog).to_contain_text("Iterations 1 to 2 are kept")
    feedback.fill("strip it first")
    dialog.get_by_text("Inputs of the run").click()
    dialog.get_by_label("task").fill("a lexer")
    dialog.get_by_label("Budget of the new run").fill("1.5")
    expect(dialog).to_contain_text(
        f"whorl fork {run} --at 'refine[3]' --set 'feedback=strip it first' "
        "--set 'task=a lexer' --budget 1.5"
    )
    picture(page, "dialog-fork")
    page.emulate_media(color_scheme="dark")
    picture(page, "dialog-fork-dark")
    dialog.get_by_role("button", name="Fork", exact=True).click()
    page.wait_for_url(lambda url: "/runs/" in url and run not in url)
    fork = page.url.rpartition("/")[2].partition("?")[0]
    found = site.wait(fork)

    assert (found["parent"], found["status"], found["budget_usd"]) == (run, "succeeded", 1.5)
    asked = site.get(f"/runs/{fork}/step", at="refine[3]/code")["record"]["inputs"]
    assert "a lexer. Mind: strip it first" in str(asked)
    assert site.get(f"/runs/{run}")["forks"] == [fork]
    expect(page.locator(".score-curve polyline.other title")).to_have_text(f"forked from {run}")
    picture(page, "fork-run")
    site.open(page, f"/runs/{run}/diff?loop=refine&one=2&other=3")
    opened(page, "Fork from #3")
    expect(dialog.locator(".score-curve polyline.line")).to_have_count(2)
    expect(dialog.locator(".score-curve polyline.other title")).to_have_text(f"fork {fork}")


@pytest.mark.slow
def test_the_shown_commands_do_the_same(site: Site, page: Page, run: str) -> None:
    opened(page, "Continue").get_by_label("More budget").fill("0.25")
    continued = site.cli_shell(page.locator("dialog .same-command code").inner_text())
    page.keyboard.press("Escape")
    opened(page, "Fork from #3").get_by_label("feedback").fill("it's shorter")
    forked = site.cli_shell(page.locator("dialog .same-command code").inner_text())
    page.keyboard.press("Escape")
    opened(page, "Accept #2")
    accepted = site.cli_shell(page.locator("dialog .same-command code").inner_text())
    found = site.get(f"/runs/{run}")

    for done in (continued, forked, accepted):
        assert done.returncode == 0, done.stderr
    assert (found["iteration"], found["budget_usd"]) == (7, 2.25)
    assert found["result"]["loops"][0]["returned_iteration"] == 2
    assert len(found["forks"]) == 1
