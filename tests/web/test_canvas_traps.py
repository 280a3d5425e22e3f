"""What goes wrong on canvases elsewhere, in the editor: each trap is one test."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from editing import FILES, TWO_LEVELS, drag, middle, opened, said, saved, settle, step, title
from playwright.sync_api import expect

if TYPE_CHECKING:
    from browsed import Site
    from playwright.sync_api import Page, Route

LONG = "whorl: 1\nname: long\nsteps:\n" + "".join(
    f'  s{number}: {{ask: "Draft {number}"}}\n' for number in range(300)
)


def canvas_file() -> str:
    """Three nodes in a row, with places."""
    kinds = {"task": "input", "write": "llm", "result": "output"}
    nodes: list[dict[str, Any]] = [
        {"id": name, "type": kind, "position": {"x": 300 * at, "y": 100}, "data": {}}
        for at, (name, kind) in enumerate(kinds.items())
    ]
    nodes[1]["data"] = {"prompt": "Draft it"}
    edges = [
        {"id": "e1", "source": "task", "target": "write"},
        {"id": "e2", "source": "write", "target": "result"},
    ]
    return json.dumps({"nodes": nodes, "edges": edges}, indent=2) + "\n"


@pytest.fixture(autouse=True)
def files(site: Site) -> None:
    more = {"long.yaml": LONG, "row.json": canvas_file()}
    for name, text in (FILES | more).items():
        (site.project / name).write_text(text)


def place(page: Page, path: str) -> tuple[float, float]:
    """Where a step is on the screen."""
    box = step(page, path).bounding_box()
    assert box is not None, path
    return round(box["x"]), round(box["y"])


def size(page: Page, path: str) -> tuple[float, float]:
    box = step(page, path).bounding_box()
    assert box is not None, path
    return round(box["width"]), round(box["height"])


def positions(site: Site, file: str) -> dict[str, tuple[float, float]]:
    nodes = json.loads((site.project / file).read_text())["nodes"]
    return {one["id"]: (one["position"]["x"], one["position"]["y"]) for one in nodes}


def behind(page: Page, path: str) -> tuple[float, float]:
    """A point of a step that is nearer to what follows it.

    Beside the last one the view would go along with what is dragged.
    """
    x, y = middle(step(page, path))
    return x + 10, y


class Held:
    """Requests that wait for their answers until they are let go."""

    def __init__(self, page: Page, path: str) -> None:
        self._page = page
        self._waiting: list[Route] = []
        self._is_open = False
        self._path = re.compile(f"/api/workflows/{path}$")
        page.route(self._path, self._take)

    def _take(self, route: Route) -> None:
        if self._is_open:
            route.continue_()
        else:
            self._waiting.append(route)

    def wait(self) -> None:
        """Until one waits."""
        while not self._waiting:
            self._page.evaluate("() => new Promise(requestAnimationFrame)")

    def release(self) -> None:
        self._is_open = True
        for route in self._waiting:
            with self._page.expect_response(self._path):
                route.continue_()


@pytest.mark.slow
def test_a_container_is_not_dropped_into_itself_and_asks_before_it_goes(
    site: Site, page: Page
) -> None:
    opened(site, page, "levels.yaml")
    settle(page)
    drag(page, title(page, "outer"), middle(step(page, "outer/inner/deeper")))
    settle(page)

    expect(step(page, "outer/inner/deeper")).to_be_visible()
    expect(page.locator(".edit-changes")).to_have_count(0)

    title(page, "outer/inner").click()
    page.keyboard.press("Delete")
    dialog = page.get_by_role("dialog", name="Remove outer/inner?")
    expect(dialog).to_contain_text("It contains 2 steps.")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(step(page, "outer/inner/deep")).to_be_visible()
    expect(page.locator(".edit-changes")).to_have_count(0)
    page.keyboard.press("Delete")
    dialog.get_by_role("button", name="Remove it, keep its steps").click()
    expect(step(page, "outer/deep")).to_be_visible()


@pytest.mark.slow
def test_a_container_keeps_its_size_while_something_is_dragged_out(site: Site, page: Page) -> None:
    opened(site, page, "levels.yaml")
    settle(page)
    before = {path: (place(page, path), size(page, path)) for path in ("outer", "outer/inner")}
    drag(page, title(page, "outer/inner/deeper"), behind(page, "last"), drops=False)
    during = {path: (place(page, path), size(page, path)) for path in before}
    page.mouse.up()

    assert during == before
    expect(said(page)).to_contain_text("deeper moved, after last")
    assert size(page, "outer/inner")[0] < before["outer/inner"][1][0]


@pytest.mark.slow
def test_what_is_not_touched_stays_and_undo_and_redo_give_the_same_bytes(
    site: Site, page: Page
) -> None:
    opened(site, page, "levels.yaml")
    settle(page)
    before = place(page, "first")
    for press in ("collapse", "expand"):
        page.get_by_role("button", name=f"{press} inner").click()
        settle(page)
        assert place(page, "first") == before, press
    drag(page, title(page, "outer/inner/deep"), behind(page, "last"))
    expect(said(page)).to_contain_text("deep moved, after last")
    settle(page)
    assert place(page, "first") == before
    out = saved(site, page, "levels.yaml")
    assert out.endswith('last: {ask: "Report"}\n  # deep inside\n  deep: {ask: "Draft three"}\n')
    page.keyboard.press("Control+z")
    expect(step(page, "outer/inner/deep")).to_be_visible()
    settle(page)
    assert place(page, "first") == before
    assert saved(site, page, "levels.yaml") == TWO_LEVELS
    page.keyboard.press("Control+Shift+z")
    expect(step(page, "deep")).to_be_visible()
    assert saved(site, page, "levels.yaml") == out


@pytest.mark.slow
def test_on_a_canvas_the_other_nodes_stay_and_tidying_is_one_step_back(
    site: Site, page: Page
) -> None:
    opened(site, page, "row.json")
    settle(page)
    before = {path: place(page, path) for path in ("task", "result")}
    x, y = middle(title(page, "write"))
    drag(page, title(page, "write"), (x, y + 160))
    expect(page.locator(".edit-changes")).to_have_text("● 1 change")
    settle(page)
    assert {path: place(page, path) for path in before} == before
    moved = saved(site, page, "row.json")
    page.get_by_role("button", name="Tidy").click()
    expect(said(page)).to_contain_text("placed")
    assert saved(site, page, "row.json") != moved
    page.keyboard.press("Control+z")
    expect(said(page)).to_contain_text("undo")

    assert saved(site, page, "row.json") == moved


def test_two_quick_drags_are_two_operations_in_their_order(site: Site, page: Page) -> None:
    opened(site, page, "row.json")
    settle(page)
    held = Held(page, "edit")
    for path, down in (("task", 150), ("result", 220)):
        x, y = middle(title(page, path))
        drag(page, title(page, path), (x, y + down))
    held.wait()
    held.release()
    expect(page.locator(".edit-changes")).to_have_text("● 2 changes")
    saved(site, page, "row.json")
    both = positions(site, "row.json")
    assert both["task"][1] > 100
    assert both["result"][1] > both["task"][1]
    page.keyboard.press("Control+z")
    expect(said(page)).to_contain_text("undo")
    saved(site, page, "row.json")

    assert positions(site, "row.json") == both | {"result": (600, 100)}


@pytest.mark.slow
def test_an_answer_during_a_drag_does_not_take_the_step_back(site: Site, page: Page) -> None:
    """A text is checked a moment after each change, which may be in the middle of the next drag."""
    opened(site, page, "row.json")
    settle(page)
    held = Held(page, "sketch")
    x, y = middle(title(page, "task"))
    drag(page, title(page, "task"), (x, y + 150))
    expect(page.locator(".edit-changes")).to_have_text("● 1 change")
    x, y = middle(title(page, "result"))
    drag(page, title(page, "result"), (x, y + 200), drops=False)
    during = place(page, "result")
    held.wait()
    held.release()
    settle(page)
    assert place(page, "result") == during
    page.mouse.up()
    expect(page.locator(".edit-changes")).to_have_text("● 2 changes")
    saved(site, page, "row.json")

    assert positions(site, "row.json")["result"][1] > 150


@pytest.mark.slow
def test_only_what_is_in_view_is_drawn(site: Site, page: Page) -> None:
    opened(site, page, "long.yaml", "?select=s150")
    expect(step(page, "s150")).to_be_visible()
    settle(page)
    nodes = page.locator(".edit-canvas .react-flow__node")
    assert nodes.count() < 200
    page.keyboard.press("F2")
    page.get_by_role("dialog").get_by_label("Name").fill("half")
    page.keyboard.press("Enter")
    expect(step(page, "half")).to_be_visible()
    settle(page)

    assert nodes.count() < 200
