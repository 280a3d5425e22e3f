"""What the page of a run says of loops: open and closed, running, long, forked, on a phone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from browsed import picture

from waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from browsed import Site
    from playwright.sync_api import Page

# Its third iteration writes something and then waits for a file.
HELD = """
whorl: 1
name: held
steps:
  work:
    repeat:
      at_most: 5
      steps:
        code: {ask: "Write code for x"}
        hold: {run: "echo so far; until [ {{ iteration }} != 3 -o -e go ]; do sleep 0.1; done"}
"""


@pytest.fixture(scope="module")
def review(site: Site) -> str:
    return site.example("review.yaml", {"task": "a parser"})


@pytest.fixture
def held(site: Site) -> Iterator[str]:
    """A run in its third iteration, which is let go afterwards."""
    (site.project / "held.yaml").write_text(HELD)
    (site.project / "go").unlink(missing_ok=True)
    run = site.start("held.yaml")
    wait_until(lambda: site.get(f"/runs/{run}")["iteration"] == 3)
    yield run
    (site.project / "go").touch()
    site.wait(run, "succeeded")


def test_a_closed_loop_is_one_node_with_ports_and_its_iteration(
    site: Site, page: Page, held: str
) -> None:
    site.open(page, f"/runs/{held}")
    page.get_by_label("close work").click()

    node = page.locator("[data-path=work].is-closed")
    node.get_by_text("Iteration 3/5").wait_for()
    assert node.locator(".piece-port").all_inner_texts() == ["in", "out"]
    assert page.locator(".piece").count() == 1
    # The picture is fitted again: the node stands in the middle of its frame.
    frame = page.locator(".canvas").bounding_box()
    wait_until(lambda: _is_inside(node.bounding_box(), frame))
    picture(page, "run-closed-loop")
    page.get_by_label("open work").click()
    page.locator("[data-path='work/hold']").wait_for()

    # The running iteration has a time, a cost, and what is being written.
    row = page.get_by_role("region", name="iterations of the loop").locator("tr", has_text="3 ")
    row = row.last
    row.locator(".written", has_text="hold: so far").wait_for()
    cells = row.locator("td").all_inner_texts()
    assert cells[1].endswith("s")
    assert cells[2] != "0"
    assert cells[3].startswith("$0.0")
    picture(page, "run-running-iteration")


def _is_inside(box: object, frame: object) -> bool:
    assert isinstance(box, dict)
    assert isinstance(frame, dict)
    return all(
        abs(box[at] + box[size] / 2 - frame[at] - frame[size] / 2) < frame[size] / 4
        for at, size in (("x", "width"), ("y", "height"))
    )


@pytest.mark.slow
def test_of_a_run_elsewhere_the_drawer_says_why_no_text_comes(site: Site, page: Page) -> None:
    (site.project / "lone.yaml").write_text(HELD.replace("held", "lone").replace("-e go", "-e on"))
    process = site.spawn("run", "lone.yaml")
    try:
        found: list[str] = []

        def is_there() -> bool:
            found[:] = [one["id"] for one in site.get("/runs", workflow="lone")["runs"]]
            return bool(found) and site.get(f"/runs/{found[0]}")["iteration"] == 3

        wait_until(is_there)
        site.open(page, f"/runs/{found[0]}?node=work/hold")
        page.locator(".drawer").get_by_text("Another process drives this run").wait_for()
    finally:
        (site.project / "on").touch()
        process.communicate()


def _height(box: object) -> float:
    return float(box["height"]) if isinstance(box, dict) else 0.0


def test_a_fork_has_a_legend_and_marks_what_it_kept(site: Site, page: Page, review: str) -> None:
    asked = {"at": "refine[3]", "set": {"feedback": "Use a class."}}
    fork = str(site.post(f"/runs/{review}/fork", asked)["run"])
    site.wait(fork)
    site.open(page, f"/runs/{fork}")

    legend = page.get_by_role("list", name="curves")
    legend.get_by_text(f"forked from {review}").wait_for()
    assert page.locator(".row-kept").count() == 2
    kept = page.get_by_text("#1 to #2 are kept from")
    kept.get_by_role("link", name=review).wait_for()
    # What the fork was given instead is no word of the reviewer.
    page.get_by_text("An empty text works; blanks around it do not.").wait_for()
    picture(page, "run-fork")


def test_the_journal_says_what_each_event_came_to(site: Site, page: Page, review: str) -> None:
    failed = site.example("failing.yaml")
    site.open(page, f"/runs/{failed}?tab=journal")

    page.get_by_role("row").filter(has_text="task.finished").get_by_text("tokens").wait_for()
    page.get_by_role("row").filter(has_text="task.failed").get_by_text("P104").wait_for()
    assert all(page.locator(".journal-columns th").all_inner_texts())
    assert page.locator(".picker").count() == 0
    site.open(page, f"/runs/{review}?tab=journal")
    ended = page.get_by_role("row").filter(has_text="loop.finished")
    ended.get_by_text("limit of iterations").wait_for()


def test_on_a_phone_the_graph_goes_down_and_begins_in_the_upper_half(
    site: Site, page: Page, review: str
) -> None:
    site.open(page, f"/runs/{review}")
    page.locator('.chips [aria-pressed="true"]').wait_for()
    page.set_viewport_size({"width": 390, "height": 844})

    code, judge = (page.locator(f"[data-path='refine/{name}']") for name in ("code", "review"))
    wait_until(lambda: _top(judge.bounding_box()) > _top(code.bounding_box()) + 20)
    assert _top(page.locator(".graph-frame").bounding_box()) < 844 / 2
    text = code.locator(".piece-title")
    assert _height(text.bounding_box()) > 11
    assert page.evaluate("() => document.documentElement.scrollWidth - innerWidth") <= 0
    picture(page, "run-phone")
    rows = page.get_by_role("region", name="iterations", exact=True).get_by_role("row")
    assert rows.count() == 5

    # The chosen chip is seen, too.
    page.wait_for_function(
        """() => {
            const chip = document.querySelector('.chips [aria-pressed="true"]')
            const box = chip?.getBoundingClientRect()
            const row = chip?.closest(".chips").getBoundingClientRect()
            return box && box.left >= row.left - 1 && box.right <= row.right + 1
                && document.querySelector(".chips").dataset.cut === "before"
        }"""
    )


def _top(box: object) -> float:
    return float(box["y"]) if isinstance(box, dict) else 0.0
