"""What changes something, pressed twice at one place: it has one effect.

What has just appeared, or has got another label, takes no press for a moment; the buttons of a run
keep their places whatever it does.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from browsed import Site, make_project, ready
from playwright.sync_api import expect

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Locator, Page, Request

DELAYS_MS = (100, 300, 600)
SHORT = """
whorl: 1
name: short
steps:
  work:
    repeat:
      until: "false"
      at_most: {iterations: 9, cost: 0.01}
      steps: {write: {ask: "Draft {{ iteration }}", max_tokens: 20}}
outputs: {text: "{{ work.write }}"}
"""
STUDY = """
experiment: 1
name: study
workflow: gated.yaml
cases: [{id: a}]
grade: {right: "true"}
"""
# What is only checked, drawn or asked changes nothing.
HARMLESS = ("/validate", "/sketch", "/edit", "/names", "/what-if", "/session")
STEERING = ("run.paused", "run.resumed", "run.accepted", "run.continued", "run.cancelled")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    project = make_project(tmp_path_factory.mktemp("site") / "shop")
    (project / "short.yaml").write_text(SHORT)
    (project / "study.experiment.yaml").write_text(STUDY)
    site = Site(project, "--edit")
    try:
        yield site
    finally:
        site.close()


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
        ready(button)
        box = button.bounding_box()
        assert box is not None
        point = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        before = len(self.asked)
        self.page.mouse.click(*point)
        self.page.wait_for_timeout(delay_ms or next(self.delays))
        self.page.mouse.click(*point)
        self.page.evaluate("0")
        return self.asked[before:]


def steered(site: Site, run: str) -> list[str]:
    events = site.get(f"/runs/{run}/events", limit=1000)["events"]
    return [one["kind"].partition(".")[2] for one in events if one["kind"] in STEERING]


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
    press("Resume", "running")
    places = {name: head.get_by_text(name).bounding_box() for name in ("Cancel", "Re-run")}
    press("Stop after this iteration", "succeeded")
    page.get_by_role("button", name="Continue +3").click()
    presses.twice(page.get_by_role("dialog").get_by_role("button", name="Continue"), delay_ms)
    site.wait(run, "running")
    presses.twice(head.get_by_role("button", name="Cancel", exact=True), delay_ms)
    press("Really cancel?", "cancelled")

    expect(page.locator(".run-title")).to_contain_text("cancelled")
    assert steered(site, run) == ["paused", "resumed", "accepted", "continued", "cancelled"]
    assert (presses.refused, page.get_by_role("dialog").count()) == ([], 0)
    assert places["Re-run"] == head.get_by_text("Re-run").bounding_box()


def test_what_changes_something_changes_it_once_when_it_is_pressed_twice(
    site: Site, page: Page
) -> None:
    limited, short = site.ran("review.yaml", {"task": "a parser"}), site.ran("short.yaml")
    approved, rejected, ended = (site.ran("gated.yaml") for _ in range(3))
    site.open(page)
    presses = Presses(page)

    wanted: list[str] = []

    def press(path: str, *names: str, asks: str) -> None:
        """Opens a screen, and presses its buttons one after the other: the last one asks."""
        wanted.append(asks)
        site.open(page, path)
        *first, last = (page.get_by_role("button", name=name, exact=True) for name in names)
        for button in first:
            presses.twice(button)
        with page.expect_response(lambda answer: told(answer.request) == asks):
            presses.twice(last)

    run = f"/runs/{limited}"
    press(run, "Fork…", "Fork", asks=f"POST {run}/fork")
    run = f"/runs/{short}"
    press(run, "Continue with more…", "Continue", asks=f"POST {run}/continue")
    run = f"/runs/{approved}"
    press(f"{run}/gate", "Approve", asks=f"POST {run}/approve")
    press(run, "Re-run", "Start", asks="POST /runs")
    run = f"/runs/{rejected}"
    press(f"{run}/gate", "Reject", asks=f"POST {run}/reject")
    run = f"/runs/{ended}"
    press(f"{run}/gate", "Cancel the run", "Really cancel?", asks=f"POST {run}/cancel")
    press("/edit/gated.yaml", "Run…", "Start", asks="POST /runs")
    press("/experiments/study", "Run", asks="POST /experiments")
    assert (presses.asked, presses.refused) == (wanted, [])


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
