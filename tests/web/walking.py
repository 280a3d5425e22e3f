"""What walk-throughs of the editor share: an empty project, and what a hand and a keyboard do."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from editing import drag, fit, middle, said, settle, step
from playwright.sync_api import expect

if TYPE_CHECKING:
    from collections.abc import Callable

    from browsed import Site
    from playwright.sync_api import Locator, Page

# A writer whose second text is better, a reviewer who is content with it, and a critic.
REPLIES = """
[defaults]
provider = "canned"
model = "scripted"

[prices.scripted]
input = 50.0
output = 200.0

[providers.canned]
kind = "scripted"
replies = [
  {match = "(?i)review this", by = "iteration", replies = [
    {json = {approved = false, feedback = "It has no rain in it.", score = 0.4}},
    {json = {approved = true, feedback = "There it rains.", score = 0.9}},
  ]},
  {match = "(?i)critique this", by = "iteration", replies = ["Too short.", "Too long.", "Well."]},
  {match = ".", by = "iteration", replies = [
    "A first text.", "A second text, with rain.", "A third text, with rain and wind."]},
]
"""

TABS_MAX = 400
# Which key leads to an element: none where it has the focus.
WAY = """one => {
    const here = document.activeElement
    if (here === one) return ''
    const isBefore = here.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_PRECEDING
    return here !== document.body && isBefore ? 'Shift+Tab' : 'Tab'
}"""


def inspector(page: Page) -> Locator:
    return page.get_by_role("region", name="inspector")


class Hands:
    """What is done to a control, by mouse or by keyboard alone."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def press(self, target: Locator) -> None:
        raise NotImplementedError

    def focus(self, target: Locator) -> None:
        raise NotImplementedError

    def choose(self, target: Locator, value: str) -> None:
        raise NotImplementedError

    def tick(self, box: Locator) -> None:
        self.focus(box)
        if not box.is_checked():
            self.page.keyboard.press("Space")
        expect(box).to_be_checked()

    def write(self, target: Locator, text: str) -> None:
        """Replaces what stands in a field, and leaves it there as a person who goes on."""
        self.focus(target)
        self.page.keyboard.press("Control+a")
        self.page.keyboard.insert_text(text)
        expect(target).to_have_value(text)

    def new_file(self, site: Site, dialect: str, file: str) -> None:
        """From the empty project to an empty file of a dialect, open in the editor."""
        page = self.page
        site.open(page, "/workflows/start")
        self.press(page.get_by_role("button", name="New…"))
        dialog = page.get_by_role("dialog", name="New workflow")
        dialog.get_by_label("File", exact=True).wait_for()
        self.pick(dialog.get_by_role("radio", name=f"Empty {dialect}"))
        self.write(dialog.get_by_label("File", exact=True), file)
        self.press(dialog.get_by_role("button", name="Create"))
        expect(page.locator(".edit-head h1")).to_contain_text(file)
        expect(page.locator(".edit-canvas .react-flow__node").first).to_be_visible()
        settle(page)

    def pick(self, radio: Locator) -> None:
        raise NotImplementedError

    def select(self, path: str, *more: str) -> None:
        """Selects steps, so that the inspector shows them."""
        raise NotImplementedError

    def add(self, kind: str, path: str) -> None:
        """A step of a kind, beside all others; it is selected then."""
        raise NotImplementedError

    def remove(self, path: str) -> None:
        raise NotImplementedError

    def connect(self, source: tuple[str, str], target: tuple[str, str]) -> None:
        """Leads a port of a step to a port of another one."""
        raise NotImplementedError

    def leave(self, path: str, around: str) -> None:
        """Goes out of a container into what is around it; the container is selected then."""
        raise NotImplementedError

    def expect_selected(self, *paths: str) -> None:
        for one in paths:
            expect(step(self.page, one)).to_have_attribute("aria-selected", "true")

    def save(self) -> None:
        self.page.keyboard.press("Control+s")
        expect(self.page.locator(".edit-changes")).to_have_count(0)


def until_count(act: Callable[[], object], found: Locator, count: int) -> None:
    """Acts again, as a person would, where the page let a quick press at one place pass."""
    for _ in range(2):
        act()
        with suppress(AssertionError):
            expect(found).to_have_count(count, timeout=5_000)
            return
    act()
    expect(found).to_have_count(count)


class Mouse(Hands):
    """Points, clicks and drags; types only into fields."""

    def press(self, target: Locator) -> None:
        target.click()

    def focus(self, target: Locator) -> None:
        target.click()

    def choose(self, target: Locator, value: str) -> None:
        target.select_option(value)

    def tick(self, box: Locator) -> None:
        box.check()

    def pick(self, radio: Locator) -> None:
        radio.check()

    def select(self, path: str, *more: str) -> None:
        step(self.page, path).locator(".piece-head").first.click()
        for one in more:
            step(self.page, one).locator(".piece-head").first.click(modifiers=["Shift"])
        self.expect_selected(path, *more)

    def add(self, kind: str, path: str) -> None:
        self.page.locator(".edit-canvas .react-flow__pane").click(position={"x": 4, "y": 4})
        palette = self.page.get_by_role("complementary", name="palette")
        palette.get_by_role("button", name=kind).click()
        self.expect_selected(path)

    def remove(self, path: str) -> None:
        self.select(path)
        inspector(self.page).get_by_role("button", name="Remove", exact=True).click()
        expect(step(self.page, path)).to_have_count(0)

    def connect(self, source: tuple[str, str], target: tuple[str, str]) -> None:
        end = step(self.page, target[0]).locator(f'[data-handleid="in:{target[1]}"]')
        expect(end).to_be_visible()
        fit(self.page)
        start = step(self.page, source[0]).locator(f'[data-handleid="out:{source[1]}"]')
        drag(self.page, start, middle(end))

    def leave(self, path: str, around: str) -> None:
        self.page.locator(".crumbs").get_by_role("button", name=around).click()
        self.select(path)


class Keys(Hands):
    """The keyboard alone: Tab goes to what is wanted, arrows choose."""

    def focus(self, target: Locator) -> None:
        expect(target).to_be_visible()
        for _ in range(TABS_MAX):
            key = target.evaluate(WAY)
            if not key:
                return
            self.page.keyboard.press(key)
        raise AssertionError(f"Tab does not reach {target}")

    def press(self, target: Locator) -> None:
        expect(target).to_be_enabled()
        self.focus(target)
        self.page.keyboard.press("Enter")

    def choose(self, target: Locator, value: str) -> None:
        self.focus(target)
        choices = target.evaluate("one => [...one.options].map(option => option.value)")
        at, wanted = choices.index(target.input_value()), choices.index(value)
        for _ in range(abs(wanted - at)):
            self.page.keyboard.press("ArrowDown" if wanted > at else "ArrowUp")
        expect(target).to_have_value(value)

    def pick(self, radio: Locator) -> None:
        group = radio.evaluate("one => [...document.getElementsByName(one.name)].indexOf(one)")
        checked = self.page.locator('input[type="radio"]:checked')
        self.focus(checked)
        at = checked.evaluate("one => [...document.getElementsByName(one.name)].indexOf(one)")
        for _ in range(abs(group - at)):
            self.page.keyboard.press("ArrowDown" if group > at else "ArrowUp")
        expect(radio).to_be_checked()

    def select(self, path: str, *more: str) -> None:
        """Goes to a step; the others are neighbours on its right."""
        self.focus(step(self.page, path))
        if not more:
            self.page.keyboard.press("Enter")
            return expect(inspector(self.page).get_by_label("name of the step")).to_be_focused()
        for one in more:
            self.page.keyboard.press("Shift+ArrowRight")
            expect(step(self.page, one)).to_be_focused()
        return self.expect_selected(path, *more)

    def add(self, kind: str, path: str) -> None:
        page = self.page
        if steps := page.locator(".edit-canvas .react-flow__node").all():
            self.focus(steps[-1])
        page.keyboard.press("Escape")
        page.keyboard.press("/")
        expect(page.get_by_role("dialog", name="Add a step").get_by_label("Kind")).to_be_focused()
        page.keyboard.insert_text(kind)
        page.keyboard.press("Enter")
        expect(step(page, path)).to_be_focused()
        self.expect_selected(path)

    def remove(self, path: str) -> None:
        def delete() -> None:
            self.focus(step(self.page, path))
            self.page.keyboard.press("Delete")

        until_count(delete, step(self.page, path), 0)

    def connect(self, source: tuple[str, str], target: tuple[str, str]) -> None:
        self.focus(step(self.page, source[0]))
        self.page.keyboard.press("c")
        expect(said(self.page)).to_contain_text(f"connect {source[0]}")
        self.focus(step(self.page, target[0]))
        self.page.keyboard.press("Enter")

    def leave(self, path: str, around: str) -> None:
        self.focus(self.page.locator(".edit-canvas .react-flow__node").last)
        self.page.keyboard.press("Backspace")
        self.expect_selected(path)


def outputs_of(site: Site, run: str) -> Any:
    return site.get(f"/runs/{run}")["result"]["outputs"]


def watched(page: Page) -> str:
    """The run that is shown under the editor."""
    return page.locator(".edit-run-head h2").inner_text().removeprefix("Run ")


def run_and_watch(
    hands: Hands, site: Site, file: str, inputs: dict[str, str], *, loop: str, turns: str
) -> str:
    """Runs from the editor, watches it in place, and has the command line give the same.

    Gives the run of the command line.
    """
    page = hands.page
    hands.press(page.get_by_role("button", name="Run…"))
    dialog = page.get_by_role("dialog")
    for name, text in inputs.items():
        hands.write(dialog.get_by_label(name), text)
    hands.press(dialog.get_by_role("button", name="Start", exact=True))
    run = page.get_by_label("run", exact=True)
    expect(run.locator(f'[data-path="{loop}"]').first).to_contain_text(turns)
    expect(run.locator(".edit-run-head")).to_contain_text("succeeded")
    by_page = watched(page)
    words = [word for name, text in inputs.items() for word in ("-i", f"{name}={text}")]
    by_hand = site.cli_run(file, *words)

    assert outputs_of(site, by_page) == outputs_of(site, by_hand)
    assert by_page != by_hand
    return by_hand


def compare_and_accept(hands: Hands, site: Site, *, loop: str, other: str) -> None:
    """Compares two runs, then two iterations of the one, and accepts the first of these."""
    page = hands.page
    run = watched(page)
    hands.press(page.get_by_label("run", exact=True).get_by_role("link", name="Open the run"))
    hands.press(page.get_by_role("link", name=re.compile("Diff #")))
    compare_runs(hands, site, run, other)
    hands.choose(page.get_by_label("With", exact=True), run)
    hands.choose(page.get_by_label("After"), "2")
    hands.choose(page.get_by_label("Before"), "1")
    expect(page.get_by_role("table", name=re.compile("from #1 to #2$"))).to_be_visible()
    hands.press(page.get_by_role("button", name="Accept #1"))
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label(f"Iteration of {loop}")).to_have_value("1")
    hands.press(dialog.get_by_role("button", name="Accept iteration 1"))
    expect(dialog).to_have_count(0)

    [found] = site.wait(run, "succeeded")["result"]["loops"]
    assert (found["exit_reason"], found["returned_iteration"]) == ("accepted", 1)


def compare_runs(hands: Hands, site: Site, run: str, other: str) -> None:
    """The first iteration of a run beside the second one of another; the command says the same."""
    page = hands.page
    hands.choose(page.get_by_label("With", exact=True), other)
    hands.choose(page.get_by_label("Before"), "1")
    hands.choose(page.get_by_label("After"), "2")
    changes = page.get_by_role("table", name=re.compile(f"from #1 to #2 of {other}$"))
    expect(changes.locator(".diff-text.diff-removed")).to_contain_text("A first text.")
    expect(changes.locator(".diff-text.diff-added")).to_contain_text("A second text, with rain.")
    told = site.cli_shell(page.locator(".compare-side .same-command code").inner_text()).stdout

    assert f"1 -> 2 of {other}" in told
    assert told.index("first") < told.index("second")
