"""Every step as what it is: computed, skipped, item of a list, judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from browsed import picture

if TYPE_CHECKING:
    from collections.abc import Callable

    from browsed import Site
    from playwright.sync_api import Locator, Page

STEPS = """
whorl: 1
name: steps
inputs: {count: {type: integer, default: 3}, fruits: {type: list, default: [apple, pear]}}
steps:
  first: {value: "{{ 1 + count }}"}
  memory: {set: {total: "{{ first * 2 }}"}}
  maybe: {if: "first > 100", value: "never"}
  way:
    choose:
      on: "{{ count % 3 }}"
      cases: {"0": {zero: {value: "nothing left"}}, "1": {one: {value: "one left"}}}
      default: {other: {ask: "Draft it"}}
  all: {each: "{{ fruits }}", as: fruit, steps: {word: {value: "{{ fruit | upper }}"}}}
outputs: {words: "{{ all }}"}
"""

# Of three loops one reaches its limit.
MANY = """
whorl: 1
name: loops
steps:
  all:
    each: [1, 9, 2]
    as: goal
    steps:
      climb:
        repeat: {until: iteration >= goal, at_most: 3, steps: {at: {value: "{{ iteration }}"}}}
outputs: {all: "{{ all }}"}
"""

WAITING = """
whorl: 1
name: later
steps:
  first: {value: "1"}
  sure: {approve: {message: "Sure?"}, timeout: 2h}
"""

PAUSE = "whorl: 1\nname: pause\nsteps: {pause: {wait: 2h}}\n"


@pytest.fixture(scope="module", autouse=True)
def files(site: Site) -> None:
    texts = {"steps": STEPS, "loops": MANY, "later": WAITING, "pause": PAUSE}
    for name, text in texts.items():
        (site.project / f"{name}.yaml").write_text(text)


def step(page: Page, path: str, status: str) -> Locator:
    """A node on the canvas, once it is drawn so."""
    found = page.locator(f'[data-path="{path}"][data-status="{status}"]')
    found.wait_for()
    return found


def opened(page: Page, path: str, status: str) -> Locator:
    """The drawer of a node."""
    step(page, path, status).click()
    drawer = page.locator(".drawer")
    drawer.wait_for()
    return drawer


def part(drawer: Locator, name: str) -> Locator:
    found = drawer.get_by_role("region", name=name, exact=True)
    found.wait_for()
    return found


def test_steps_show_what_they_read_and_gave_or_why_not(
    site: Site, page: Page, check_access: Callable[[Page], None]
) -> None:
    run = site.ran("steps.yaml")
    site.open(page, f"/runs/{run}")

    drawer = opened(page, "first", "succeeded")
    assert "4" in part(drawer, "Output").inner_text()
    assert "count" in part(drawer, "Read").inner_text()
    page.keyboard.press("Escape")
    drawer = opened(page, "memory", "succeeded")
    assert "total" in part(drawer, "Output").inner_text()
    picture(page, "records-computed")
    check_access(page)
    page.keyboard.press("Escape")

    # Skipped steps say why, and branches have names.
    drawer = opened(page, "maybe", "skipped")
    drawer.get_by_text("its condition is not true: first > 100").wait_for()
    page.keyboard.press("Escape")
    assert "case 0" in step(page, "way", "succeeded").inner_text()
    assert "case 0" in step(page, "way/zero", "succeeded").inner_text()
    drawer = opened(page, "way/other", "skipped")
    drawer.get_by_text("Skipped: case '0' was taken.").wait_for()
    picture(page, "records-branch")
    page.keyboard.press("Escape")

    # Items of a list that only computes are there.
    chips = step(page, "all", "succeeded").get_by_role("button", name="iteration ")
    chips.nth(1).wait_for()
    assert chips.count() == 2
    drawer = opened(page, "all/word", "succeeded")
    drawer.get_by_text("PEAR", exact=True).wait_for()
    page.keyboard.press("Escape")
    page.locator('[data-path="all"] .piece-title').click()
    items = page.get_by_role("region", name="items", exact=True)
    items.get_by_text("apple").click()
    assert "iteration=1" in page.url
    page.keyboard.press("Escape")
    opened(page, "all/word", "succeeded").get_by_text("APPLE", exact=True).wait_for()
    picture(page, "records-items")


@pytest.mark.slow
def test_judges_say_why_with_what_they_quote(
    site: Site, page: Page, noted: Callable[[str, dict[tuple[str, str], dict[str, object]]], None]
) -> None:
    run = site.example("tone.yaml")
    fact = {"by": "judge", "met": True, "question": "Does the tone fit?", "answer": "YES"}
    fact |= {"reason": "it is warm", "evidence": "a second, longer draft"}
    noted(run, {("iteration.finished", "tone[2]"): {"facts": [fact]}})
    site.open(page, f"/runs/{run}")

    table = page.get_by_role("region", name="iterations", exact=True)
    table.get_by_text("the tone does not fit.").wait_for()
    table.get_by_text("it is warm").wait_for()
    verdict = page.get_by_role("region", name="verdict")
    verdict.get_by_text("judge: yes. it is warm — Does the tone fit?").wait_for()
    assert "a second, longer draft" in verdict.get_by_label("quoted evidence").inner_text()
    banner = page.locator(".exit-banner")
    assert "the judge said yes: it is warm" in banner.inner_text()
    drawer = opened(page, "tone/write", "succeeded")
    assert "it is warm" in part(drawer, "Verdict on #2").inner_text()
    picture(page, "records-judged")


@pytest.mark.slow
def test_many_loops_are_counted_and_those_that_missed_are_a_click_away(
    site: Site, page: Page
) -> None:
    run = site.ran("loops.yaml")
    site.open(page, f"/runs/{run}")

    banner = page.locator(".banner", has_text="climb: 3 loops")
    banner.get_by_text("2 condition met, 1 limit of iterations").wait_for()
    banner.get_by_role("button", name="all[2]/climb").click()
    ended = page.locator(".exit-banner", has_text="all[2]/climb stopped")
    ended.get_by_text("it reached its limit of iterations").wait_for()
    picture(page, "records-loops")

    # The limit of a loop inside of a list is known, here and in the list of runs.
    assert "3/3" in step(page, "all/climb", "exhausted").inner_text()
    assert "∞" not in page.locator(".main").inner_text()
    site.open(page)
    page.get_by_role("row").filter(has_text=run).filter(has_text="climb 2/3").wait_for()


def test_what_waits_says_until_when(site: Site, page: Page) -> None:
    run = site.start("later.yaml")
    site.wait(run, "waiting")
    site.open(page, f"/runs/{run}")

    page.locator(".banner", has_text="continues by itself at").get_by_text("in 1h 59m").wait_for()
    step(page, "first", "succeeded")
    site.open(page, "/")
    page.get_by_role("row", name=run).get_by_text("continues in 1h").wait_for()
    run = site.start("pause.yaml")
    site.open(page, f"/runs/{run}")

    assert "until " in step(page, "pause", "running").inner_text()
    site.post(f"/runs/{run}/cancel")
