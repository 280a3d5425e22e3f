"""Every button of every page, pressed twice at one place: it has one effect.

What has just appeared, or has got another label, takes no press for a moment; the buttons of a run
keep their places whatever it does.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from browsed import Site, make_project
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
        path = request.url.partition("/api/")[2].partition("?")[0]
        # What is only tried, checked or drawn changes nothing.
        if request.method != "GET" and path.split("/")[0] in ("runs", "experiments", "files"):
            self.asked.append(f"{request.method} {path.rpartition('/')[2]}")

    def _refuse(self, status: int, url: str) -> None:
        if status >= 400:
            self.refused.append(f"{status} {url}")

    def twice(self, button: Locator, delay_ms: int = 0) -> list[str]:
        """What two presses at the same place ask for."""
        expect(button).not_to_have_attribute("aria-disabled", "true")
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
        presses.twice(head.get_by_role("button", name=name, exact=True), delay_ms)
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


def test_every_button_of_every_page_has_one_effect_when_it_is_pressed_twice(
    site: Site, page: Page
) -> None:
    site.open(page)
    presses = Presses(page)
    running, paused = site.start("slow.yaml"), site.start("slow.yaml")
    site.post(f"/runs/{paused}/pause")
    cancelled = site.start("slow.yaml")
    site.post(f"/runs/{cancelled}/cancel")
    gated, asked_of = site.ran("gated.yaml"), site.ran("gated.yaml")
    limited, short = site.ran("review.yaml", {"task": "a parser"}), site.ran("short.yaml")
    assert site.get(f"/runs/{short}")["mark"] == "budget"
    everything: set[str] = set()
    for path in (
        *(f"/runs/{run}" for run in (running, paused, gated, limited, short, cancelled)),
        f"/runs/{asked_of}/gate",
        *("/", "/workflows", "/edit/gated.yaml", "/experiments/study", "/costs"),
    ):
        pressed: set[str] = set()
        while (name := _next_button(site, page, path, pressed)) is not None:
            pressed.add(name)
            asked = presses.twice(_buttons(page).get_by_text(name, exact=True).first)
            assert len(asked) <= 1, (path, name, asked)
            assert page.locator(".run-refused, .notice-error").count() == 0, (path, name)
        everything |= pressed
    assert presses.refused == []
    assert everything >= {"Pause", "Resume", "Really cancel?", "Continue with more…", "Approve"}
    for run in (running, paused):
        if site.get(f"/runs/{run}")["status"] not in ("succeeded", "cancelled"):
            site.post(f"/runs/{run}/cancel")


def _buttons(page: Page) -> Locator:
    """Those that can be pressed: in a dialog, only its own."""
    inside = "dialog " if page.locator("dialog").count() else ".main "
    # What only changes the view is pressed by the other tests.
    return page.locator(f"{inside}.button:visible:not([disabled], [aria-pressed], [data-repeats])")


def _next_button(site: Site, page: Page, path: str, pressed: set[str]) -> str | None:
    """One that was not pressed yet: what the last one has opened comes first."""
    names = [name for name in _buttons(page).all_inner_texts() if name not in pressed]
    if path not in page.url or not names:
        page.keyboard.press("Escape")
        site.open(page, path)
        page.locator(".main h1").first.wait_for()
        names = [name for name in _buttons(page).all_inner_texts() if name not in pressed]
    return names[0] if names else None
