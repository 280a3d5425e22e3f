"""What a token may not do is not offered, or says why it cannot be pressed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

if TYPE_CHECKING:
    from browsed import Site
    from playwright.sync_api import Locator, Page

STUDY = """
experiment: 1
name: roles
workflow: gated.yaml
cases: [{id: a}]
grade: {right: "true"}
"""


def is_off(button: Locator) -> bool:
    """Whether it can never be pressed; what has just appeared takes no press for a moment only."""
    return bool(button.evaluate("button => button.disabled"))


@pytest.mark.sample(2)
@pytest.mark.parametrize("role", ["read", "run"])
def test_the_page_offers_only_what_the_token_may_do(site: Site, stranger: Page, role: str) -> None:
    (site.project / "roles.experiment.yaml").write_text(STUDY)
    made = site.cli("server", "token", "add", role, "--role", role)
    page = stranger
    site.visitors.add(page.context)
    page.goto(f"{site.address}/#token={made.stdout.split()[-1]}")
    page.wait_for_selector(".header")
    waiting = site.example("gated.yaml")
    looped = site.example("review.yaml", {"task": "a parser"})
    why = f"A token with the role {role} may not do this"

    site.open(page, f"/runs/{waiting}")
    steer = page.get_by_role("group", name="steer the run")
    page.get_by_role("link", name="Look at it").wait_for()
    offered = ["Re-run"] if role == "run" else []
    assert steer.locator(".button:visible").all_inner_texts() == offered
    site.open(page, f"/runs/{waiting}?node=check")
    expect(page.get_by_role("dialog").get_by_role("link", name="Look at it")).to_be_visible()
    site.open(page, f"/runs/{looped}")
    expect(page.get_by_role("region", name="verdict").get_by_role("link")).to_be_visible()
    assert page.get_by_role("button", name="Fork from").count() == 0

    site.open(page, f"/runs/{waiting}/approvals")
    expect(page.get_by_text(f"{why}: approve.")).to_be_visible()
    assert page.get_by_role("button", name="Approve").count() == 0

    site.open(page, "/workflows/start?file=gated.yaml")
    start = page.get_by_role("button", name="Start", exact=True)
    expect(start).to_be_visible()
    assert is_off(start) == (role == "read")
    expect(page.get_by_label("Budget")).to_be_enabled(enabled=role == "run")
    assert page.get_by_text("and no more than that").count() == 2
    assert page.get_by_text(f"{why}: start.").count() == (role == "read")
    assert page.get_by_role("button", name="New…").count() == 0

    site.open(page, "/experiments/roles")
    study = page.get_by_role("button", name="Run", exact=True)
    expect(study).to_be_visible()
    assert is_off(study) == (role == "read")
    if role == "read":
        expect(study).to_have_attribute("title", f"{why}: run experiment.")

    site.open(page, "/edit/gated.yaml")
    expect(page.get_by_text(f"a token with the role {role} may not save files")).to_be_visible()
    assert page.get_by_role("button", name="Save").count() == 0
    assert is_off(page.get_by_role("button", name="Run…")) == (role == "read")
