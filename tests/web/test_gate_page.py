"""What a run asks of a person: the page with the question, and each answer to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from browsed import picture
from playwright.sync_api import expect

if TYPE_CHECKING:
    from collections.abc import Callable

    from browsed import Site
    from playwright.sync_api import Locator, Page


def decisions(site: Site, run: str) -> list[Any]:
    """What people have decided, as the journal has it."""
    events = site.get(f"/runs/{run}/events", limit=1000)["events"]
    return [one["body"] for one in events if one["kind"] == "gate.decided"]


def asked(site: Site, page: Page, workflow: str) -> str:
    """A run that waits, and the page with its question."""
    run = site.ran(workflow)
    site.open(page, f"/runs/{run}/approvals")
    page.locator(".gate-question").wait_for()
    return run


def answered(page: Page) -> Locator:
    """What stands in the place of the buttons once the question is answered."""
    card = page.get_by_role("region", name="answered")
    card.get_by_role("heading", name="✓ answered").wait_for()
    return card


def test_the_question_is_shown_and_approved_with_words(site: Site, page: Page) -> None:
    run = asked(site, page, "gated.yaml")
    expect(page.get_by_role("heading", name="Publish it?")).to_be_visible()
    expect(page.get_by_role("region", name="what it is about")).to_contain_text("A first draft.")
    expect(page.get_by_text("asked by an approval step of the workflow")).to_be_visible()
    expect(page.get_by_text(f"whorl runs approve {run} --at check", exact=True)).to_be_visible()
    expect(page.get_by_text(f"whorl runs reject {run} --at check", exact=True)).to_be_visible()
    assert page.url.endswith("/approvals?at=check")
    picture(page, "gate")

    page.get_by_label("Feedback").fill("it's good")
    expect(page.get_by_text(f"whorl runs approve {run} --feedback 'it'\\''s good'")).to_be_visible()
    page.get_by_role("button", name="Approve", exact=True).dblclick()
    card = answered(page)
    expect(card).to_contain_text("You answered: Approve “it's good”")
    expect(card).to_contain_text("The run has succeeded.")
    expect(card).not_to_contain_text("not sent")
    assert site.wait(run, "succeeded")["result"]["outputs"] == {"ok": True, "words": "it's good"}
    assert len(decisions(site, run)) == 1


def test_the_shown_command_does_the_same_and_is_seen_at_once(site: Site, page: Page) -> None:
    run = asked(site, page, "gated.yaml")
    page.get_by_label("Feedback").fill("it's good")
    done = site.cli_shell(page.get_by_text("whorl runs approve").inner_text())

    assert done.returncode == 0, done.stderr
    assert decisions(site, run)[0]["feedback"] == "it's good"
    expect(answered(page)).to_contain_text("Someone else answered: Approve")


LETTER = """
whorl: 1
name: letter
steps:
  letter:
    repeat:
      at_most: 5
      ask_person: each
      steps: {write: {ask: "Draft it. {{ person.feedback if person is defined else '' }}"}}
  publish: {approve: {message: "Send this letter?", show: "{{ letter.write }}"}}
outputs: {sent: "{{ publish.approved }}"}
"""


@pytest.fixture
def letter(site: Site, page: Page) -> str:
    """A run that asks two questions one after the other, and the page with the first."""
    (site.project / "letter.yaml").write_text(LETTER)
    return asked(site, page, "letter.yaml")


def test_an_iteration_is_accepted_with_edits(site: Site, page: Page) -> None:
    run = asked(site, page, "asking.yaml")
    page.get_by_role("button", name="Accept with edits…").click()
    edits = page.get_by_role("group", name="edits")
    send = edits.get_by_role("button", name="Accept with edits")
    expect(edits.get_by_label("write")).to_have_value("A first draft.")
    expect(send).to_be_disabled()
    edits.get_by_label("write").fill("A draft, by hand.\nIn two lines.")
    command = f"whorl runs approve {run} --set 'write=A draft, by hand.\nIn two lines.' --at"
    expect(edits.locator("code").last).to_contain_text(command)
    picture(page, "gate-edits")
    page.reload()
    expect(page.get_by_label("write")).to_have_value("A draft, by hand.\nIn two lines.")
    page.get_by_role("button", name="Accept with edits", exact=True).click()
    expect(answered(page)).to_contain_text("You answered: Accept and finish with edits")

    outputs = site.wait(run, "succeeded")["result"]["outputs"]
    assert outputs == {"text": "A draft, by hand.\nIn two lines."}
    site.open(page, f"/runs/{run}")
    expect(page.locator(".exit-banner")).to_contain_text("with edits of a person")


@pytest.mark.slow
def test_another_iteration_is_asked_for_with_words_that_outlive_a_reload(
    site: Site, page: Page
) -> None:
    run = asked(site, page, "asking.yaml")
    page.get_by_label("Feedback").fill("longer, please")
    page.reload()
    expect(page.get_by_label("Feedback")).to_have_value("longer, please")
    page.get_by_role("button", name="Another iteration").click()
    expect(answered(page)).to_contain_text("You answered: Another iteration “longer, please”")
    assert "longer" not in page.evaluate("() => JSON.stringify({...sessionStorage})")
    answered(page).get_by_role("link", name="next approval →").click()
    page.get_by_text("work[2]/:ask").first.wait_for()

    assert decisions(site, run)[0]["feedback"] == "longer, please"
    expect(page.get_by_role("region", name="what it is about")).to_contain_text("A second, longer")
    page.get_by_label("changes since #1").check(force=True)
    expect(page.locator(".diff-text.diff-added")).to_contain_text("A second, longer draft.")
    picture(page, "gate-iteration")
    page.emulate_media(color_scheme="dark")
    picture(page, "gate-iteration-dark")

    page.get_by_role("button", name="Accept and finish").click()
    answered(page)
    found = site.wait(run, "succeeded")
    assert found["iteration"] == 2
    assert found["stopped_by"] == found["result"]["loops"][0]["stopped_by"] == "person"


TWO = """
whorl: 1
name: two
steps:
  both: {together: {left: {approve: {message: "Left?"}}, right: {approve: {message: "Right?"}}}}
outputs: {words: "{{ right.feedback }}"}
"""


@pytest.mark.slow
def test_of_several_questions_each_is_answered_by_itself(site: Site, page: Page) -> None:
    (site.project / "two.yaml").write_text(TWO)
    run = asked(site, page, "two.yaml")
    page.get_by_role("navigation", name="open approvals").get_by_text("right").click()
    page.get_by_role("heading", name="Right?").wait_for()
    expect(page.get_by_text(f"whorl runs approve {run} --at both/right")).to_be_visible()
    page.get_by_role("button", name="Approve", exact=True).click()
    link = answered(page).get_by_role("link", name="next approval →")
    assert page.url.endswith("?at=both%2Fright")
    link.click()
    page.get_by_role("heading", name="Left?").wait_for()

    assert [gate["address"] for gate in site.get(f"/runs/{run}")["approvals"]] == ["both/left"]


def test_at_a_limit_the_words_of_the_judge_are_shown(site: Site, page: Page) -> None:
    run = asked(site, page, "judged.yaml")
    expect(page.get_by_role("region", name="verdict")).to_contain_text("the tone does not fit")
    expect(page.get_by_text("asked by the loop, at its limit")).to_be_visible()
    picture(page, "gate-limit")
    page.get_by_label("More iterations").fill("1")
    page.get_by_role("button", name="Continue").click()
    found = site.wait(run, "succeeded")

    assert (found["iteration"], found["stopped_by"]) == (2, "judge")


def test_a_run_that_asks_nothing_says_so(site: Site, page: Page) -> None:
    run = site.example("order.yaml", {"topic": "bees"})
    site.open(page, f"/runs/{run}/approvals")

    expect(page.get_by_role("heading", name="No approval waits for you")).to_be_visible()
    site.open(page, f"/runs/{run}/approvals?at=draft")
    expect(page.get_by_role("heading", name="There is no approval at draft")).to_be_visible()


def test_anybody_can_answer_by_keys(
    site: Site, page: Page, check_access: Callable[[Page], None]
) -> None:
    run = asked(site, page, "gated.yaml")
    page.keyboard.press("a")
    expect(page.get_by_role("button", name="Approve", exact=True)).to_be_focused()
    expect(page.get_by_role("button", name="Approve", exact=True)).to_be_enabled()
    page.keyboard.press("Enter")

    site.wait(run, "succeeded")
    answered(page)
    check_access(page)
