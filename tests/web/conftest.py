"""The page in a real browser, on a real `whorl serve` process.

- `site` (for a module): a temporary project with scripted replies, served; see `browsed.Site`:
  `site.ran("review.yaml", {"task": "x"})`, `site.cli_run(...)`, `site.start(...)`, `site.get(...)`.
- `page` (for a test): a tab of its own, 1440 x 900; `site.open(page, "/runs/ID")` shows a screen.
  A test fails when the page throws, logs an error, or breaks its own content policy.
- `shown` (for a test): the same, with the runs list open already.
- `browsed.picture(page, "name")` saves a screenshot if WHORL_SCREENSHOTS names a folder.
- `check_access(page)` fails on serious findings of axe-core, in light and in dark.
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

import pytest
from browsed import AXE, CHROMIUM, FLAGS, Site, findings, make_project

from waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, BrowserContext, Page, Route


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A served project that the tests of a module share."""
    site = Site(make_project(tmp_path_factory.mktemp("site") / "shop"))
    try:
        yield site
    finally:
        site.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, started once for a module.

    Not once for all: as long as it is there, nothing else can run an event loop in this thread.
    """
    if not os.path.exists(CHROMIUM):
        pytest.skip(f"there is no {CHROMIUM}: the page is tested with Debian's chromium")
    sync_api = pytest.importorskip("playwright.sync_api")
    sync_api.expect.set_options(timeout=PATIENCE_S * 1_000)
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def context(browser: Browser) -> Iterator[BrowserContext]:
    """What the tabs of a module share: compiled scripts, so that they open quickly."""
    context = browser.new_context(
        viewport={"width": 1440, "height": 900}, color_scheme="light", reduced_motion="reduce"
    )
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """A new tab; whatever the page complains of fails the test."""
    page = context.new_page()
    page.set_default_timeout(PATIENCE_S * 1_000)
    complaints: list[str] = []
    page.on("pageerror", lambda fault: complaints.append(f"thrown: {fault}"))
    page.on("console", lambda message: _note(complaints, message.type, message.text))
    yield page
    page.close()
    assert complaints == []


def _note(complaints: list[str], kind: str, text: str) -> None:
    # The browser itself logs each answer of 4xx; tests of refusals cause them on purpose.
    if kind == "error" and "Failed to load resource" not in text:
        complaints.append(f"logged: {text}")


@pytest.fixture
def shown(site: Site, page: Page) -> Page:
    """The page, with the list of runs."""
    site.open(page)
    return page


@pytest.fixture
def marked(page: Page) -> Callable[[str, str], None]:
    """Has answers of the server say that a run of theirs has a mark, whatever it ended by."""

    marks: dict[str, str] = {}

    def answer(route: Route) -> None:
        # Nothing is "unchanged": the page has to be told the mark.
        given = route.fetch(headers={**route.request.headers, "if-none-match": ""})
        told = given.json()
        for one in told.get("runs", [told]):
            one["mark"] = marks.get(one["id"], one["mark"])
        route.fulfill(response=given, json=told)

    page.route(re.compile(r"/api/runs(/[^/?]+)?(\?.*)?$"), answer)
    return marks.__setitem__


@pytest.fixture
def noted(site: Site, page: Page) -> Callable[[str, dict[tuple[str, str], dict[str, Any]]], None]:
    """Adds to notes of a journal, by kind and address, what other runs would have there."""

    def add(run: str, more: dict[tuple[str, str], dict[str, Any]]) -> None:
        events = site.get(f"/runs/{run}/events", limit=1000)["events"]
        for event in events:
            event["body"] |= more.get((event["kind"], event["address"]), {})
        stream = "".join(f"id: {one['seq']}\ndata: {json.dumps(one)}\n\n" for one in events)
        page.route(
            f"**/api/runs/{run}/events*",
            lambda route: route.fulfill(content_type="text/event-stream", body=stream),
        )

    return add


SERIOUS = re.compile(r"^\S+ \((serious|critical)\)")


@pytest.fixture
def check_access() -> Callable[[Page], None]:
    """Says whether people with other eyes and hands can use what is shown."""
    if not AXE.exists():
        pytest.skip("there is no axe-core: `npm ci` in web/ installs it")

    def check(page: Page) -> None:
        assert [one for one in findings(page) if SERIOUS.search(one)] == []
        page.emulate_media(color_scheme="dark")
        assert findings(page, "color-contrast") == []
        page.emulate_media(color_scheme="light")

    return check
