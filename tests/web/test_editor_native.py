"""The editor on native files: walked through by mouse, and again by keyboard alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from browsed import picture
from editing import FILES, TWO_LEVELS, drag, middle, opened, said, saved, settle, step, title
from playwright.sync_api import expect

if TYPE_CHECKING:
    from browsed import Site
    from playwright.sync_api import Page

POLISHED = """\
# What we write, and why.
whorl: 1
name: drafts
inputs: {task: string}
steps:
  polish:
    repeat:
      at_most: 5
      until: review.score > 0.6
      carry:
        feedback: "{{ review.feedback }}"
      steps:
        # the first version
        write:
          ask: "Draft {{ task }}\\n{{ feedback | default('') }}"   # short
        review:
          ask: "Review {{ write }}"
          returns: {score: number, feedback: string}

  publish: {ask: "Report on {{ polish.write }}"}
outputs:
  text: "{{ publish }}"
"""


@pytest.fixture(autouse=True)
def files(site: Site) -> None:
    for name, text in FILES.items():
        (site.project / name).write_text(text)


def type_until(page: Page) -> None:
    """Writes a condition into the source, beside the picture."""
    page.get_by_role("button", name="Split").click()
    page.locator(".cm-line", has_text="at_most").click()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    page.keyboard.insert_text("until: review.score > 0.6")
    expect(step(page, "polish")).to_contain_text("until review.score > 0.6")


def test_a_loop_is_built_by_mouse(site: Site, page: Page) -> None:
    opened(site, page, "drafts.yaml")
    title(page, "write").click()
    title(page, "review").click(modifiers=["Shift"])
    page.keyboard.press("w")
    page.get_by_label("Name").fill("polish")
    page.get_by_role("button", name="Wrap", exact=True).click()
    expect(step(page, "polish/review")).to_be_visible()
    expect(said(page)).to_contain_text("write, review wrapped in polish; 1 reference updated")
    type_until(page)
    settle(page)
    start = step(page, "polish/review").locator(".react-flow__handle-right")
    drag(page, start, middle(step(page, "polish").locator(".edit-back")))
    page.get_by_role("button", name="Feed back").click()
    expect(page.locator(".edit-changes")).to_have_text("● 3 changes")
    picture(page, "editor-native-split")

    assert saved(site, page, "drafts.yaml") == POLISHED


@pytest.mark.slow
def test_a_step_is_dragged_into_two_levels(site: Site, page: Page) -> None:
    opened(site, page, "levels.yaml")
    settle(page)
    rim = step(page, "outer/inner").bounding_box()
    deeper = step(page, "outer/inner/deeper").bounding_box()
    assert rim is not None
    assert deeper is not None
    last_inside = (deeper["x"] + deeper["width"] + 6, deeper["y"] + 20)
    drag(page, title(page, "first"), last_inside)
    expect(said(page)).to_contain_text("first moved into inner, after deeper")
    page.keyboard.press("Control+z")
    settle(page)
    drag(page, title(page, "first"), (rim["x"] + rim["width"] + 8, rim["y"] + rim["height"] / 2))

    expect(said(page)).to_contain_text("first moved into outer, after inner")


def test_escape_ends_a_drag_and_a_double_click_does_not_begin_one(site: Site, page: Page) -> None:
    opened(site, page, "levels.yaml")
    settle(page)
    drag(page, title(page, "last"), middle(step(page, "outer/inner/deep")), drops=False)
    page.keyboard.press("Escape")
    page.mouse.up()
    expect(said(page)).to_contain_text("nothing was moved")
    settle(page)
    title(page, "outer/inner").dblclick()
    expect(page.locator(".crumbs")).to_contain_text("inner")
    expect(step(page, "outer/inner/deep")).to_be_visible()
    expect(step(page, "first")).to_have_count(0)
    assert "at=outer" in page.url
    page.go_back()
    expect(step(page, "first")).to_be_visible()

    # Delete in a field deletes text.
    title(page, "first").click()
    page.get_by_label("find a kind of step").fill("ask")
    page.keyboard.press("Home")
    page.keyboard.press("Delete")
    expect(page.get_by_label("find a kind of step")).to_have_value("sk")
    expect(step(page, "first")).to_be_visible()
    expect(page.locator(".edit-changes")).to_have_count(0)
    assert (site.project / "levels.yaml").read_text() == TWO_LEVELS
