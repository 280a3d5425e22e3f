"""The editor and the file on the disk: drafts, other writers, and broken texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from editing import DRAFTS, FILES, drag, middle, opened, saved, settle, step, title
from playwright.sync_api import expect

if TYPE_CHECKING:
    from collections.abc import Callable

    from browsed import Site
    from playwright.sync_api import Page


@pytest.fixture(autouse=True)
def files(site: Site) -> None:
    for name, text in FILES.items():
        (site.project / name).write_text(text)


def rename(page: Page, path: str, name: str) -> None:
    title(page, path).click()
    page.keyboard.press("F2")
    page.get_by_role("textbox", name="Name", exact=True).fill(name)
    page.keyboard.press("Enter")
    expect(step(page, name)).to_be_visible()


@pytest.mark.slow
def test_a_draft_is_offered_after_a_reload(site: Site, page: Page) -> None:
    opened(site, page, "drafts.yaml")
    rename(page, "publish", "tell")
    page.reload()
    offer = page.get_by_role("alert")
    expect(offer).to_contain_text("1 change")
    expect(step(page, "publish")).to_be_visible()
    offer.get_by_role("button", name="Restore the draft").click()
    expect(step(page, "tell")).to_be_visible()
    page.keyboard.press("Control+z")
    expect(step(page, "publish")).to_be_visible()
    expect(page.locator(".edit-changes")).to_have_count(0)

    assert (site.project / "drafts.yaml").read_text() == DRAFTS

    # It can also be discarded.
    rename(page, "publish", "tell")
    page.reload()
    page.get_by_role("button", name="Discard").click()
    expect(page.get_by_role("alert")).to_have_count(0)
    page.reload()
    expect(step(page, "publish")).to_be_visible()

    expect(page.get_by_role("alert")).to_have_count(0)


@pytest.mark.slow
def test_changes_are_replayed_on_what_another_program_wrote(
    site: Site, page: Page, check_access: Callable[[Page], None]
) -> None:
    opened(site, page, "drafts.yaml")
    rename(page, "publish", "tell")
    settle(page)
    drag(page, title(page, "tell"), middle(step(page, "write")), drops=False)
    theirs = DRAFTS.replace("Draft {{ task }}", "Write {{ task }} well")
    (site.project / "drafts.yaml").write_text(theirs)
    page.keyboard.press("Escape")
    page.mouse.up()
    page.keyboard.press("Control+s")
    expect(page.get_by_role("alert")).to_contain_text("Another program has changed this file")
    # A save that was refused shows both versions at once.
    expect(page.get_by_role("dialog")).to_contain_text("well")
    check_access(page)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Compare…").click()
    page.get_by_role("button", name="Apply my 1 change on theirs").click()
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(step(page, "tell")).to_be_visible()

    text = saved(site, page, "drafts.yaml")
    assert text == theirs.replace("publish:", "tell:").replace("{{ publish }}", "{{ tell }}")


@pytest.mark.slow
def test_without_changes_the_new_text_is_shown(site: Site, page: Page) -> None:
    opened(site, page, "drafts.yaml")
    expect(step(page, "publish")).to_be_visible()
    (site.project / "drafts.yaml").write_text(DRAFTS.replace("publish", "tell"))
    expect(step(page, "tell")).to_be_visible()
    expect(page.get_by_text("the file has changed on the disk")).to_be_visible()

    expect(page.locator(".edit-changes")).to_have_count(0)


def test_a_broken_file_is_repaired_in_the_source(site: Site, page: Page) -> None:
    opened(site, page, "drafts.yaml", "?mode=split")
    page.locator(".cm-line", has_text="publish:").click()
    page.keyboard.press("End")
    page.keyboard.insert_text("}")
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("The file has an error in line 13")
    expect(step(page, "publish")).to_be_visible()
    expect(page.locator(".edit-canvas.is-broken")).to_be_visible()
    expect(page.locator(".cm-lint-marker-error").first).to_be_visible()
    expect(page.get_by_role("button", name="Run…")).to_be_disabled()
    alert.get_by_role("button", name="Fix it in the source").click()
    page.keyboard.press("End")
    page.keyboard.press("Backspace")
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(page.locator(".edit-canvas.is-broken")).to_have_count(0)

    expect(page.locator(".edit-changes")).to_have_count(0)


@pytest.mark.slow
def test_a_step_goes_to_a_file_and_back(site: Site, page: Page) -> None:
    body = site.project / "part.yaml"
    opened(site, page, "drafts.yaml")
    title(page, "review").click()
    form = page.get_by_role("region", name="inspector")
    form.get_by_text("Move to a file…").click()
    form.get_by_label("new file").fill("part.yaml")
    form.get_by_role("button", name="Move", exact=True).click()
    expect(form.get_by_role("button", name="Save and open part.yaml")).to_be_visible()
    expect(form.locator(".inspector-problems")).to_have_count(0)
    # Both texts are one step of undo, and nothing is on the disk yet.
    page.keyboard.press("Control+z")
    expect(form.get_by_text("Move to a file…")).to_be_visible()
    assert not body.exists()
    page.keyboard.press("Control+Shift+z")
    expect(form.get_by_role("button", name="Inline")).to_be_visible()
    text = saved(site, page, "drafts.yaml")

    assert "call: part.yaml" in text
    assert 'ask: "Review {{ write }}"' in body.read_text()
    form.get_by_role("button", name="Inline").click()
    expect(form.get_by_text("Move to a file…")).to_be_visible()
    assert saved(site, page, "drafts.yaml") == DRAFTS
    assert body.exists()


@pytest.mark.slow
def test_a_new_file_is_saved_when_it_is_opened(site: Site, page: Page) -> None:
    body = site.project / "both.yaml"
    opened(site, page, "drafts.yaml")
    title(page, "write").click()
    form = page.get_by_role("region", name="inspector")
    form.get_by_text("Move to a file…").click()
    form.get_by_label("new file").fill("both.yaml")
    form.get_by_role("button", name="Move", exact=True).click()
    expect(form.get_by_text("both.yaml").first).to_be_visible()
    title(page, "write").dblclick()
    expect(page.get_by_text("both.yaml is not saved yet: save first")).to_be_visible()
    assert not body.exists()
    form.get_by_role("button", name="Save and open both.yaml").click()
    page.wait_for_url("**/edit/both.yaml**")
    expect(step(page, "write")).to_be_visible()

    assert 'ask: "Draft {{ task }}"   # short' in body.read_text()
    assert "{{ write.result }}" in (site.project / "drafts.yaml").read_text()
    body.unlink()
