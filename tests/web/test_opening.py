"""Opening the page: the link with the token, and what happens without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from browsed import Site
    from playwright.sync_api import Page


KEPT = """() => JSON.stringify(
    [document.cookie, location.href, {...sessionStorage}, {...localStorage}]
)"""


def test_no_script_can_find_the_token_or_the_session(site: Site, stranger: Page) -> None:
    page = stranger
    run = site.ran("gated.yaml")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(site.link)

    page.get_by_role("heading", name="Runs", exact=True).wait_for()

    [cookie] = [one for one in page.context.cookies() if one["name"].startswith("whorl-")]
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["path"]) == (True, "Strict", "/api")
    kept = page.evaluate(KEPT)
    assert site.token not in kept
    assert cookie["value"] not in kept
    assert "token" not in page.url
    assert [url for url in asked if not url.startswith(site.address)] == []

    # New tabs and links that are sent need no token.
    with page.context.expect_page() as opening:
        page.get_by_role("link", name=run).click(modifiers=["Control"])
    opening.value.locator(".run-title", has_text="gated").wait_for()
    opening.value.close()
    sent = page.context.new_page()
    sent.goto(f"{site.address}/#/runs/{run}?node=check")
    sent.locator(".drawer", has_text="Publish it?").wait_for()
    sent.close()


def test_without_a_session_the_page_asks_for_the_token(site: Site, stranger: Page) -> None:
    page = stranger
    run = site.example("gated.yaml")
    page.goto(f"{site.address}/#/runs/{run}")
    page.get_by_label("Token").fill("wrong")
    page.keyboard.press("Enter")

    page.get_by_role("alert").filter(has_text="does not accept this token").wait_for()
    page.get_by_label("Token").fill(site.token)
    page.keyboard.press("Enter")
    page.locator(".run-title", has_text="gated").wait_for()
