"""README's loop, built in the editor from an empty project: by mouse, and by keyboard alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from browsed import ROOT, picture
from editing import drag, middle, settle, step
from playwright.sync_api import expect
from walking import Hands, Keys, Mouse, compare_and_accept, inspector, run_and_watch

if TYPE_CHECKING:
    from browsed import Site
    from playwright.sync_api import Page

WRITE = "Write {{ task }}. Feedback: {{ feedback | default('none') }}"
REVIEW = "Review this and score it from 0 to 1: {{ write }}"
RETURNS = '{"approved":"boolean","feedback":"string","score":"number"}'


def readme() -> Any:
    """The loop as README has it."""
    found = re.search(
        r"```yaml\n(whorl: 1\nname: polish\n.*?)```", (ROOT / "README.md").read_text(), re.S
    )
    assert found is not None
    # The panel writes the short form of a plateau, which means the same.
    return yaml.safe_load(found[1].replace("{patience: 2}", "2"))


def fill_steps(hands: Hands) -> None:
    """The two prompts, and what the reviewer returns."""
    page = hands.page
    form = inspector(page)
    hands.write(form.get_by_label("name of the step"), "review")
    page.keyboard.press("Enter")
    expect(step(page, "review")).to_be_visible()
    hands.write(form.get_by_label("Prompt required"), REVIEW)
    hands.press(form.get_by_text("More fields"))
    hands.write(form.get_by_label("Fields of the answer"), RETURNS)
    hands.select("write")
    hands.write(form.get_by_label("Prompt required"), WRITE)


def fill_loop(hands: Hands) -> None:
    """The loop as a sentence: three conditions, two limits, what is fed back and what it gives."""
    page = hands.page
    form = inspector(page)
    until = form.get_by_role("group", name="repeat until")
    hands.press(until.get_by_role("button", name="+ condition"))
    hands.write(until.get_by_label("expression").last, "review.approved")
    hands.press(until.get_by_role("button", name="+ or"))
    chips = until.get_by_label("kind of condition")
    expect(chips).to_have_count(2)
    hands.choose(chips.nth(1), "plateau")
    hands.write(until.get_by_label("iterations without a better score"), "2")
    hands.press(until.get_by_role("button", name="+ or"))
    expect(chips).to_have_count(3)
    hands.choose(chips.nth(2), "score")
    score = until.get_by_role("group", name="score ≥")
    hands.write(score.get_by_label("at least"), "")
    hands.write(score.get_by_label("from"), "{{ review.score }}")
    hands.press(score.get_by_text("between…"))
    hands.write(score.get_by_label("lowest score"), "0")
    hands.write(score.get_by_label("highest score"), "1")
    hands.press(form.get_by_text("another limit…"))
    hands.write(form.get_by_label("at most, dollars"), "0.5")
    hands.choose(form.get_by_label("return", exact=True), "best")


def check_and_run(hands: Hands, site: Site) -> None:
    """Feeds the review back; the file is README's loop, it runs, and is steered."""
    page = hands.page
    dialog = page.get_by_role("dialog", name="Feed back")
    hands.choose(dialog.get_by_label("Written into"), "")
    hands.press(dialog.get_by_role("button", name="Feed back"))
    expect(dialog).to_have_count(0)
    hands.save()
    picture(page, "walk-native")

    assert yaml.safe_load((site.project / "polish.yaml").read_text()) == readme()

    inputs = {"task": "a haiku"}
    other = run_and_watch(hands, site, "polish.yaml", inputs, loop="polish", turns="2/5")
    compare_and_accept(hands, site, loop="polish", other=other)


def test_readmes_loop_by_mouse(empty_site: Site, page: Page) -> None:
    hands = Mouse(page)
    hands.new_file(empty_site, "native", "polish.yaml")
    form = inspector(page)
    hands.write(form.get_by_label("name", exact=True), "polish")
    write = step(page, "write").bounding_box()
    assert write is not None
    behind = (write["x"] + write["width"] + 20, write["y"] + 20)
    drag(page, page.locator('.edit-palette [data-kind="ask"]'), behind)
    expect(step(page, "ask")).to_be_visible()
    fill_steps(hands)
    hands.select("write", "review")
    hands.press(form.get_by_text("Wrap…"))
    hands.write(form.get_by_label("called"), "polish")
    hands.press(form.get_by_role("button", name="Wrap", exact=True))
    expect(step(page, "polish/review")).to_be_visible()
    fill_loop(hands)
    settle(page)
    start = step(page, "polish/review").locator(".react-flow__handle-right")
    drag(page, start, middle(step(page, "polish").locator(".edit-back")))
    check_and_run(hands, empty_site)


@pytest.mark.slow
def test_readmes_loop_by_keyboard(empty_site: Site, page: Page) -> None:
    hands = Keys(page)
    hands.new_file(empty_site, "native", "polish.yaml")
    form = inspector(page)
    hands.write(form.get_by_label("name", exact=True), "polish")
    hands.focus(step(page, "write"))
    page.keyboard.press("/")
    page.get_by_role("dialog", name="Add a step").get_by_label("Kind").wait_for()
    page.keyboard.insert_text("ask a model")
    page.keyboard.press("Enter")
    expect(step(page, "ask")).to_be_focused()
    page.keyboard.press("Enter")
    fill_steps(hands)
    hands.select("write", "review")
    page.keyboard.press("w")
    expect(page.get_by_role("dialog").get_by_label("Name")).to_be_focused()
    page.keyboard.insert_text("polish")
    page.keyboard.press("Enter")
    expect(step(page, "polish")).to_be_focused()
    fill_loop(hands)
    hands.focus(step(page, "polish/review"))
    page.keyboard.press("c")
    hands.focus(step(page, "polish"))
    page.keyboard.press("Enter")
    check_and_run(hands, empty_site)
