"""Opening the page: the link with the token, and what happens without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from browsed import Site
    from playwright.sync_api import Page


def test_the_token_is_taken_out_of_the_address(site: Site, page: Page) -> None:
    site.open(page)

    page.get_by_role("heading", name="Runs", exact=True).wait_for()

    assert "token" not in page.url
    assert site.token == page.evaluate("() => sessionStorage.getItem('whorl.token')")


def test_without_a_token_the_page_asks_for_it(site: Site, page: Page) -> None:
    page.goto(site.address)
    page.get_by_label("Token").fill("wrong")
    page.keyboard.press("Enter")

    page.get_by_role("alert").filter(has_text="does not take this token").wait_for()
    page.get_by_label("Token").fill(site.token)
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Runs", exact=True).wait_for()


def test_nothing_is_loaded_from_elsewhere(site: Site, page: Page) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    site.open(page)
    page.get_by_role("heading", name="Runs", exact=True).wait_for()

    assert [url for url in asked if not url.startswith(site.address)] == []
