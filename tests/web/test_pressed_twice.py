"""What changes something, pressed twice at one place: it has one effect.

What has just appeared, or has got another label, takes no press for a moment; the buttons of a run
keep their places whatever it does.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from browsed import ready
from playwright.sync_api import expect

if TYPE_CHECKING:
    from browsed import Site
    from playwright.sync_api import Locator, Page, Request

DELAYS_MS = (100, 300, 600)
# It fails until it is mended: one that failed again could be retried again.
STUMBLING = """
whorl: 1
name: stumbling
steps: {work: {run: "[ -e mended ]"}}
"""
# Without a loop, it pauses for its budget.
TIGHT = """
whorl: 1
name: tight
budget: 0.001
steps: {draft: {ask: "Draft it", max_tokens: 20}}
"""
# What is only checked, drawn or asked changes nothing.
HARMLESS = ("/validate", "/sketch", "/edit", "/names", "/what-if", "/session")
# Both presses are in the page, so that no driver makes the time between them longer.
TWICE = """async (button, delay) => {
    button.scrollIntoView({block: 'nearest'})
    const box = button.getBoundingClientRect()
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2]
    const under = () => document.elementFromPoint(x, y)
    const click = {bubbles: true, cancelable: true, detail: 1, view: window, clientX: x, clientY: y}
    const press = () => under()?.dispatchEvent(new MouseEvent('click', click))
    if (!button.contains(under())) throw new Error('something covers it')
    press()
    await new Promise(done => setTimeout(done, delay))
    press()
}"""
STEERING = ("run.paused", "run.resumed", "run.accepted", "run.continued", "run.cancelled")


@pytest.fixture(scope="module", autouse=True)
def files(site: Site) -> None:
    (site.project / "stumbling.yaml").write_text(STUMBLING)
    (site.project / "tight.yaml").write_text(TIGHT)


def told(request: Request) -> str:
    """What a request changes; "" if it changes nothing."""
    path = request.url.partition("/api")[2].partition("?")[0]
    is_harmless = request.method == "GET" or path.endswith(HARMLESS)
    return "" if is_harmless else f"{request.method} {path}"


class Presses:
    """Presses buttons of a page twice, and notes what the page asks of the server for it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.asked: list[str] = []
        self.refused: list[str] = []
        self.wanted: list[str] = []
        self.delays = itertools.cycle(DELAYS_MS)
        page.on("request", self._note)
        page.on("response", lambda one: self._refuse(one.status, one.url))

    def _note(self, request: Request) -> None:
        if asked := told(request):
            self.asked.append(asked)

    def _refuse(self, status: int, url: str) -> None:
        if status >= 400:
            self.refused.append(f"{status} {url}")

    def twice(self, button: Locator, delay_ms: int = 0) -> list[str]:
        """What two presses at the same place ask for."""
        before = len(self.asked)
        ready(button).evaluate(TWICE, delay_ms or next(self.delays))
        return self.asked[before:]

    def screen(self, site: Site, path: str, *names: str, asks: str) -> None:
        """Presses buttons of a screen one after the other; the last one asks. "": as it is."""
        if path:
            site.open(self.page, path)
        *first, last = (self.page.get_by_role("button", name=name, exact=True) for name in names)
        for button in first:
            self.twice(button)
        self.wanted.append(asks)
        with self.page.expect_response(lambda answer: told(answer.request) == asks):
            self.twice(last)


def steered(site: Site, run: str) -> list[str]:
    events = site.get(f"/runs/{run}/events", limit=1000)["events"]
    return [one["kind"].partition(".")[2] for one in events if one["kind"] in STEERING]


@pytest.mark.sample(3)
@pytest.mark.parametrize("delay_ms", DELAYS_MS)
def test_who_steers_with_double_clicks_does_each_thing_once(
    site: Site, page: Page, delay_ms: int
) -> None:
    run = site.start("slow.yaml")
    site.open(page, f"/runs/{run}")
    presses = Presses(page)
    head = page.get_by_role("group", name="steer the run")

    def press(name: str, status: str) -> None:
        presses.twice(ready(head.get_by_role("button", name=name, exact=True)), delay_ms)
        site.wait(run, status)

    press("Pause", "paused")
    page.locator(".banner").filter(has_text="Paused").wait_for()
    press("Resume", "running")
    places = {name: head.get_by_text(name).bounding_box() for name in ("Cancel", "Re-run")}
    press("Stop after this iteration", "succeeded")
    page.locator(".exit-banner").filter(has_text="a person stopped it").wait_for()
    found = site.get(f"/runs/{run}")
    assert (found["exit_reason"], found["stopped_by"]) == ("accepted", "person")
    assert page.get_by_role("button", name="Stop after this iteration").count() == 0
    page.get_by_role("button", name="Continue +3").click()
    page.get_by_role("dialog").get_by_label("More iterations").fill("500")
    presses.twice(page.get_by_role("dialog").get_by_role("button", name="Continue"), delay_ms)
    site.wait(run, "running")
    presses.twice(head.get_by_role("button", name="Cancel", exact=True), delay_ms)
    press("Really cancel?", "cancelled")

    expect(page.locator(".run-title")).to_contain_text("cancelled")
    page.locator('[data-path="turns"][data-status="cancelled"]').wait_for()
    assert steered(site, run) == ["paused", "resumed", "accepted", "continued", "cancelled"]
    # Where the dialog was is the graph: a press there may open what a step gave, no more.
    assert (presses.refused, page.locator("dialog").count()) == ([], 0)
    assert places["Re-run"] == head.get_by_text("Re-run").bounding_box()


@pytest.mark.slow
def test_a_file_is_saved_once(site: Site, page: Page) -> None:
    site.open(page, "/edit/short.yaml?mode=source")
    presses = Presses(page)
    for delay_ms in DELAYS_MS:
        page.locator(".cm-line").last.click()
        page.keyboard.press("End")
        page.keyboard.insert_text(f"\n# {delay_ms}")
        presses.twice(page.get_by_role("button", name="Save", exact=True), delay_ms)
        page.wait_for_selector(".edit-changes", state="detached")

    assert presses.asked == ["PUT /workflows/source"] * len(DELAYS_MS)
    assert presses.refused == []

    head = page.locator(".edit-head .button")
    before = [one.bounding_box() for one in head.all()]
    page.keyboard.insert_text("\nodd: 1")
    expect(page.get_by_role("button", name="Save with 1 problem")).to_be_visible()
    assert [one.bounding_box() for one in head.all()] == before
