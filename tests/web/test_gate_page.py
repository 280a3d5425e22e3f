"""What a run asks of a person: the page with the question, and each answer to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from browsed import picture, wait_until
from playwright.sync_api import expect

if TYPE_CHECKING:
    from collections.abc import Callable

    from browsed import Site
    from playwright.sync_api import Page


def decisions(site: Site, run: str) -> list[Any]:
    """What people have decided, as the journal has it."""
    events = site.get(f"/runs/{run}/events", limit=1000)["events"]
    return [one["body"] for one in events if one["kind"] == "gate.decided"]


def asked(site: Site, page: Page, workflow: str) -> str:
    """A run that waits, and the page with its question."""
    run = site.ran(workflow)
    site.open(page, f"/runs/{run}/gate")
    page.locator(".gate-question").wait_for()
    return run


def test_the_question_and_what_it_is_about_are_shown(site: Site, page: Page) -> None:
    run = asked(site, page, "gated.yaml")

    expect(page.get_by_role("heading", name="Publish it?")).to_be_visible()
    expect(page.get_by_role("region", name="what it is about")).to_contain_text("A first draft.")
    expect(page.get_by_text("asked by a gate of the workflow")).to_be_visible()
    expect(page.get_by_text(f"whorl approve {run}", exact=True)).to_be_visible()
    expect(page.get_by_text(f"whorl reject {run}", exact=True)).to_be_visible()
    picture(page, "gate")


def test_approving_with_words_lets_the_run_go_on(site: Site, page: Page) -> None:
    run = asked(site, page, "gated.yaml")
    page.get_by_label("Feedback").fill("it's good")
    expect(page.get_by_text(f"whorl approve {run} --feedback 'it'\\''s good'")).to_be_visible()
    page.get_by_role("button", name="Approve").click()
    page.get_by_role("heading", name="Nothing waits for you").wait_for()

    assert site.wait(run, "succeeded")["result"]["outputs"] == {"ok": True, "words": "it's good"}


def test_the_shown_command_does_the_same(site: Site, page: Page) -> None:
    run = asked(site, page, "gated.yaml")
    page.get_by_label("Feedback").fill("it's good")
    done = site.cli_shell(page.get_by_text("whorl approve").inner_text())

    assert done.returncode == 0, done.stderr
    assert decisions(site, run)[0]["feedback"] == "it's good"


def test_rejecting_tells_the_run(site: Site, page: Page) -> None:
    run = asked(site, page, "gated.yaml")
    page.get_by_label("Feedback").fill("not yet")
    page.get_by_role("button", name="Reject").click()
    page.get_by_role("heading", name="Nothing waits for you").wait_for()

    outputs = site.wait(run, "succeeded", "failed")["result"]["outputs"]
    assert outputs == {"ok": False, "words": "not yet"}


def test_two_presses_are_one_decision(site: Site, page: Page) -> None:
    run = asked(site, page, "gated.yaml")
    page.get_by_role("button", name="Approve").dblclick()
    page.get_by_role("heading", name="Nothing waits for you").wait_for()

    assert len(decisions(site, run)) == 1


def test_another_iteration_is_asked_for_with_feedback(site: Site, page: Page) -> None:
    run = asked(site, page, "asking.yaml")
    page.get_by_label("Feedback").fill("longer, please")
    page.get_by_role("button", name="Another iteration").click()
    page.get_by_text("work[2]/:ask").first.wait_for()

    assert decisions(site, run)[0]["feedback"] == "longer, please"
    expect(page.get_by_role("region", name="what it is about")).to_contain_text("A second, longer")
    page.get_by_label("difference to #1").check(force=True)
    expect(page.locator(".diff-text.diff-added")).to_contain_text("A second, longer draft.")
    picture(page, "gate-iteration")
    page.emulate_media(color_scheme="dark")
    picture(page, "gate-iteration-dark")

    page.get_by_role("button", name="Accept and finish").click()
    page.get_by_role("heading", name="Nothing waits for you").wait_for()
    found = site.wait(run, "succeeded")
    assert found["iteration"] == 2
    assert found["stopped_by"] == found["result"]["loops"][0]["stopped_by"] == "person"


PUBLISHING = """
whorl: 1
name: publishing
steps:
  work:
    repeat:
      until: check.approved
      at_most: 3
      steps:
        write: {ask: "Draft it"}
        check: {approve: {message: "Good?", show: "{{ write }}"}}
outputs: {text: "{{ work.write }}"}
"""

TWO = """
whorl: 1
name: two
steps:
  both:
    together:
      left: {approve: {message: "Left?"}}
      right: {approve: {message: "Right?"}}
outputs: {words: "{{ right.feedback }}"}
"""


def test_a_gate_in_a_loop_shows_what_has_changed_since_it_was_rejected(
    site: Site, page: Page
) -> None:
    (site.project / "publishing.yaml").write_text(PUBLISHING)
    run = asked(site, page, "publishing.yaml")
    page.get_by_role("button", name="Reject").click()
    page.get_by_text("work[2]/check").first.wait_for()
    page.get_by_label("difference to #1").check(force=True)

    expect(page.locator(".diff-text.diff-added")).to_contain_text("A second, longer draft.")
    page.get_by_role("button", name="Approve").click()
    assert site.wait(run, "succeeded")["iteration"] == 2


def test_of_several_questions_each_is_answered_by_itself(site: Site, page: Page) -> None:
    (site.project / "two.yaml").write_text(TWO)
    run = asked(site, page, "two.yaml")
    page.get_by_role("navigation", name="open questions").get_by_text("right").click()
    page.get_by_role("heading", name="Right?").wait_for()
    expect(page.get_by_text(f"whorl approve {run} --at both/right")).to_be_visible()
    page.get_by_role("button", name="Approve").click()
    page.get_by_role("heading", name="Left?").wait_for()

    assert [gate["address"] for gate in site.get(f"/runs/{run}")["gates"]] == ["both/left"]


def test_at_a_limit_the_words_of_the_judge_are_shown(site: Site, page: Page) -> None:
    run = asked(site, page, "judged.yaml")
    expect(page.get_by_role("region", name="verdict")).to_contain_text("the tone does not fit")
    expect(page.get_by_text("asked by the loop, at its limit")).to_be_visible()
    picture(page, "gate-limit")
    page.get_by_label("More iterations").fill("1")
    page.get_by_role("button", name="Continue").click()
    found = site.wait(run, "succeeded")

    assert (found["iteration"], found["stopped_by"]) == (2, "judge")


def test_more_iterations_and_budget_are_given(site: Site, page: Page) -> None:
    run = asked(site, page, "asking.yaml")
    page.get_by_label("More iterations").fill("4")
    page.get_by_label("More budget").fill("0.5")
    command = f"whorl continue {run} --iterations 4 --budget +0.5 --at work"
    expect(page.get_by_text(command)).to_be_visible()
    page.get_by_role("button", name="Continue").click()

    def is_raised() -> bool:
        loop = site.get(f"/runs/{run}/loops")["loops"][0]
        return bool(loop["iterations_max"] == 9)

    wait_until(is_raised)
    assert site.get(f"/runs/{run}")["budget_usd"] == 1.5


def test_the_run_is_cancelled_from_the_question(site: Site, page: Page) -> None:
    run = asked(site, page, "asking.yaml")
    page.get_by_role("button", name="Cancel the run").click()
    page.get_by_role("heading", name="Nothing waits for you").wait_for()

    assert site.wait(run, "cancelled")["exit_reason"] == "cancelled"


def test_a_decision_elsewhere_is_seen_at_once(site: Site, page: Page) -> None:
    run = asked(site, page, "gated.yaml")
    site.cli("approve", run)

    page.get_by_role("heading", name="Nothing waits for you").wait_for()
    expect(page.get_by_role("status").filter(has_text="approved")).to_be_visible()


def test_a_run_that_asks_nothing_says_so(site: Site, page: Page) -> None:
    run = site.ran("order.yaml", {"topic": "x"})
    site.open(page, f"/runs/{run}/gate")

    expect(page.get_by_role("heading", name="Nothing waits for you")).to_be_visible()


def test_the_answer_is_reached_by_keys(site: Site, page: Page) -> None:
    run = asked(site, page, "gated.yaml")
    page.keyboard.press("a")
    expect(page.get_by_role("button", name="Approve")).to_be_focused()
    page.keyboard.press("Enter")

    site.wait(run, "succeeded")


def test_anybody_can_answer(site: Site, page: Page, check_access: Callable[[Page], None]) -> None:
    asked(site, page, "asking.yaml")
    check_access(page)
