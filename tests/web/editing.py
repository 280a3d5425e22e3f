"""What the tests of the editor share: an editable site, and short words for what a person does."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from browsed import Site
    from playwright.sync_api import Locator, Page

# Two steps that want a loop around them; the comments have to survive everything.
DRAFTS = """\
# What we write, and why.
whorl: 1
name: drafts
inputs: {task: string}
steps:
  # the first version
  write:
    ask: "Draft {{ task }}"   # short
  review:
    ask: "Review {{ write }}"
    returns: {score: number, feedback: string}

  publish: {ask: "Report on {{ write }}"}
outputs:
  text: "{{ publish }}"
"""

TWO_LEVELS = """\
whorl: 1
name: levels
steps:
  first: {ask: "Draft one"}
  outer:
    repeat:
      at_most: 2
      steps:
        early: {ask: "Draft two"}
        inner:
          repeat:
            at_most: 2
            steps:
              # deep inside
              deep: {ask: "Draft three"}
              deeper: {ask: "Draft four"}
  last: {ask: "Report"}
"""

FILES = {"drafts.yaml": DRAFTS, "levels.yaml": TWO_LEVELS}


def opened(site: Site, page: Page, file: str, query: str = "") -> None:
    """Opens a file in the editor, without the drafts of other tests."""
    if page.url.startswith(f"{site.address}/#"):
        site.open(page)
        page.evaluate("() => localStorage.clear()")
    site.open(page, f"/edit/{file}{query}")
    page.wait_for_selector(".edit-head")


def step(page: Page, path: str) -> Locator:
    """The node of a step on the canvas of the editor."""
    return page.locator(f'.edit-canvas .react-flow__node[data-id="{path}"]')


def title(page: Page, path: str) -> Locator:
    """The name of a step on its node: where it is taken to be dragged."""
    return step(page, path).locator(".piece-head").first


def said(page: Page) -> Locator:
    """The live region."""
    return page.get_by_test_id("said")


def middle(locator: Locator) -> tuple[float, float]:
    box = locator.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def drag(page: Page, start: Locator, point: tuple[float, float], *, drops: bool = True) -> None:
    """Drags by the mouse, in steps, as a hand does."""
    x, y = middle(start)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 6, y + 6, steps=2)
    page.mouse.move(*point, steps=8)
    if drops:
        page.mouse.up()


def saved(site: Site, page: Page, file: str) -> str:
    """Saves, and gives what is then in the file."""
    page.keyboard.press("Control+s")
    page.wait_for_selector(".edit-changes", state="detached")
    return (site.project / file).read_text()


def edge_middle(page: Page, words: str) -> tuple[float, float]:
    """Where on the screen the middle of an edge is; `words` are what it says of itself."""
    edge = page.locator(f'.edit-canvas .react-flow__edge[aria-label="{words}"] path').first
    found = edge.evaluate(
        """path => {
            const point = path.getPointAtLength(path.getTotalLength() / 2)
            const to = path.getScreenCTM()
            return [point.x * to.a + to.e, point.y * to.d + to.f]
        }"""
    )
    return found[0], found[1]


def settle(page: Page) -> None:
    """Waits until nothing on the canvas moves any more."""
    page.evaluate(
        """async () => {
            const nodes = () => [...document.querySelectorAll('.edit-canvas .react-flow__node')]
            const places = () => nodes().map(node => JSON.stringify(node.getBoundingClientRect()))
            const frame = () => new Promise(done => requestAnimationFrame(done))
            let before = ''
            for (let same = 0, turn = 0; same < 5 && turn < 300; turn += 1) {
                await frame()
                const now = places().join()
                same = now === before ? same + 1 : 0
                before = now
            }
        }"""
    )


def fit(page: Page) -> None:
    """Shows the whole picture."""
    page.locator(".edit-canvas .react-flow__controls-fitview").click()
    settle(page)
