"""The page in a real browser, on a real `whorl serve` process.

- `site`: a temporary project with scripted replies, served, whose files may be written; all tests
  of a process share it, but for modules with one of their own. See `browsed.Site`:
  `site.ran("review.yaml", {"task": "x"})`, `site.example(...)` for a run that is only looked at,
  `site.cli_run(...)`, `site.start(...)`, `site.get(...)`.
- `page` (for a test): a tab, 1440 x 900; `site.open(page, "/runs/ID")` shows a screen.
  A test fails when the page throws, logs an error, or breaks its own content policy.
- `browsed.picture(page, "name")` saves a screenshot if WHORL_SCREENSHOTS names a folder.
- `check_access(page)` fails on serious findings of axe-core, in light and in dark.

What is seen when a test fails is kept in build/traces; with WHORL_TRACE also how it came to that.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeVar

import pytest
from browsed import AXE, CHROMIUM, FLAGS, ROOT, Site, findings, make_project

from waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Error, Page

Made = TypeVar("Made")
FOLDER = Path(__file__).parent
TRACES = ROOT / "build" / "traces"
SHARED = pytest.StashKey[dict[Any, Any]]()
FAILED = pytest.StashKey[bool]()
TRACED = "WHORL_TRACE" in os.environ
SIZE: Any = {"width": 1440, "height": 900}


def shared(
    request: pytest.FixtureRequest, make: Callable[[], AbstractContextManager[Made]]
) -> Made:
    """What the tests of this folder share in a process: made once, ended when others follow.

    As long as a browser is there, nothing else can run an event loop in this thread.
    """
    folder = next(one for one in request.node.iter_parents() if one.path == FOLDER)
    made = folder.stash.setdefault(SHARED, {})
    if make not in made:
        manager = make()
        made[make] = manager.__enter__()

        def end() -> None:
            del made[make]
            manager.__exit__(None, None, None)

        folder.addfinalizer(end)
    return made[make]  # type: ignore[no-any-return]


@contextmanager
def _served() -> Iterator[Site]:
    with (
        TemporaryDirectory() as folder,
        Site(make_project(Path(folder) / "shop"), "--edit") as site,
    ):
        yield site


@contextmanager
def _served_empty() -> Iterator[Site]:
    from walking import REPLIES

    with TemporaryDirectory() as folder:
        Path(folder, "whorl.toml").write_text(REPLIES)
        with Site(Path(folder), "--edit") as site:
            yield site


@contextmanager
def _launched() -> Iterator[Browser]:
    sync_api = pytest.importorskip("playwright.sync_api")
    sync_api.expect.set_options(timeout=PATIENCE_S * 1_000)
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def site(request: pytest.FixtureRequest) -> Site:
    """A served project."""
    return shared(request, _served)


@pytest.fixture
def empty_site(request: pytest.FixtureRequest) -> Iterator[Site]:
    """A served project without any workflow; one that a test makes is gone afterwards."""
    site = shared(request, _served_empty)
    yield site
    for file in [*site.project.glob("*.yaml"), *site.project.glob("*.json")]:
        file.unlink()


@pytest.fixture(scope="module")
def browser(request: pytest.FixtureRequest) -> Browser:
    """Chromium."""
    if not os.path.exists(CHROMIUM):
        pytest.skip(f"there is no {CHROMIUM}: the page is tested with Debian's chromium")
    return shared(request, _launched)


@pytest.fixture(scope="module")
def context(browser: Browser) -> BrowserContext:
    """What tabs share: compiled scripts, so that they open quickly."""
    if browser.contexts:
        return browser.contexts[0]
    return browser.new_context(viewport=SIZE, color_scheme="light", reduced_motion="reduce")


@pytest.fixture
def page(request: pytest.FixtureRequest, context: BrowserContext) -> Iterator[Page]:
    """A tab as if it were new; whatever the page complains of fails the test."""
    page = context.pages[0] if context.pages else context.new_page()
    page.set_default_timeout(PATIENCE_S * 1_000)
    complaints: list[str] = []

    def note_error(message: ConsoleMessage) -> None:
        # The browser itself logs each answer of 4xx; tests of refusals cause them on purpose.
        if message.type == "error" and "Failed to load resource" not in message.text:
            complaints.append(f"logged: {message.text}")

    def note_thrown(fault: Error) -> None:
        complaints.append(f"thrown: {fault}")

    page.on("console", note_error)
    page.on("pageerror", note_thrown)
    if TRACED:
        context.tracing.start(screenshots=True, snapshots=True)
    yield page
    has_failed = request.node.stash.get(FAILED, False)
    if TRACED:
        context.tracing.stop(path=_trace(request.node, "zip") if has_failed else None)
    if not page.is_closed():
        page.evaluate("() => 0")  # What it has complained of until now arrives before the answer.
        page.remove_listener("console", note_error)
        page.remove_listener("pageerror", note_thrown)
    if has_failed:
        for tab in context.pages:
            tab.close()
    elif not page.is_closed():
        _clear(page)
    assert complaints == []


@pytest.fixture
def stranger(browser: Browser) -> Iterator[Page]:
    """A tab of somebody who was never here: without a session, with nothing kept."""
    with browser.new_context() as context:
        yield context.new_page()


def _clear(page: Page) -> None:
    """Leaves nothing of a test in its tab; the process behind it stays, and with it its scripts."""
    page.unroute_all(behavior="ignoreErrors")
    if page.url.startswith("http"):
        page.goto(f"{page.url.partition('/#')[0]}/assets/icon.svg")
        page.evaluate("() => { localStorage.clear(); sessionStorage.clear() }")
    page.set_viewport_size(SIZE)
    page.emulate_media(color_scheme="light")
    page.mouse.move(0, 0)


def _trace(item: pytest.Item, kind: str) -> Path:
    TRACES.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"[^\w-]+", "-", item.name).strip("-")
    return TRACES / f"{name}.{kind}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Function) -> Iterator[None]:
    """Of a test that failed, what was on the page is kept."""
    report: Any = yield
    if report.when == "call" and report.failed:
        item.stash[FAILED] = True
        page = item.funcargs.get("page")
        if page and not page.is_closed():
            picture = _trace(item, "png")
            page.screenshot(path=picture, timeout=PATIENCE_S * 100)
            report.sections.append(("what was seen", str(picture)))
    return report


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
