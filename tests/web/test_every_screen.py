"""Every screen and every mode of the editor: axe finds nothing, and nothing lies beside the window.

Light at a width of 1440, dark at 390; where WHORL_SCREENSHOTS names a folder, pictures are kept.
"""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING, Any, Literal

import pytest
from browsed import AXE, CONFIG, ROOT, Site, findings, make_project, picture
from editing import FILES
from playwright.sync_api import expect

from waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Page

LOOKS: tuple[tuple[int, int, Literal["light", "dark"]], ...] = (
    (1440, 900, "light"),
    (390, 844, "dark"),
)
EXAMPLES = {
    "checked.yaml": "shodan/review.yaml",
    "count.yaml": "shodan/count.yaml",
    "self-refine.json": "studio/self-refine.json",
    "code_loop.yml": "orka/code_loop.yml",
    "research.py": "python/research.py",
}
FANNED = """\
whorl: 1
name: fan-out
inputs: {n: {type: integer, default: 5}}
steps:
  all:
    each: "{{ range(n) | list }}"
    as: item
    at_once: 4
    steps:
      work: {ask: "Draft {{ item + 1 }}"}
      route:
        choose:
          on: "{{ item % 3 }}"
          cases: {"0": {a: {value: "zero"}}, "1": {b: {value: "one"}}}
          default: {c: {ask: "Plan another"}}
outputs: {x: "{{ all }}"}
"""
STUDY = """\
experiment: 1
name: judged
workflow: tone.yaml
cases: [{id: a}, {id: b}, {id: c}]
grade:
  right: "'draft' in outputs.text"
  taste: {person: "Would you send this?", show: "{{ outputs.text }}"}
explore: {work: 2}
"""
TONE = """\
whorl: 1
name: tone
steps:
  work:
    repeat: {until: {judge: "Does the tone fit?"}, at_most: 2, steps: {write: {ask: "Draft it."}}}
outputs: {text: "{{ work.write }}"}
"""
MORE = """
[workflows]
python = ["research:research"]

[providers.describer]
kind = "scripted"
replies = "replies.toml"
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A project with a file of every kind, whose files may be written."""
    project = make_project(tmp_path_factory.mktemp("seen") / "shop")
    study = ROOT / "examples" / "experiment"
    for name in ("cases.csv", "describe.experiment.yaml", "replies.toml"):
        shutil.copy(study / name, project / name)
    described = (study / "describe.yaml").read_text()
    files = FILES | {
        "whorl.toml": CONFIG + MORE,
        "describe.yaml": f"{described}model: describer/scripted\n",
        "each.yaml": FANNED,
        "tone.yaml": TONE,
        "unread.json": "no JSON",
        "tone.experiment.yaml": STUDY,
        **{name: (ROOT / "examples" / path).read_text() for name, path in EXAMPLES.items()},
    }
    for name, text in files.items():
        (project / name).write_text(text)
    with Site(project, "--edit") as site:
        yield site


@pytest.fixture(scope="module")
def studied(site: Site) -> None:
    """Experiments that are over."""
    for name, file in {"describe": "describe", "judged": "tone"}.items():
        site.post("/experiments", {"file": f"{file}.experiment.yaml"})
        wait_until(lambda name=name: site.get(f"/experiments/{name}")["state"] != "running")


@pytest.fixture(scope="module")
def runs(site: Site) -> dict[str, str]:
    """A run of each kind."""
    site.ran("order.yaml", {"topic": "a mill by the river, and who owned it since 1740"})
    return {
        "review": site.ran("review.yaml", {"task": "a parser"}),
        "nested": site.ran("nested.yaml", {"task": "a parser"}),
        "each": site.ran("each.yaml"),
        "failing": site.ran("failing.yaml"),
        "asking": site.ran("asking.yaml"),
        "judged": site.ran("judged.yaml"),
        "gated": site.ran("gated.yaml"),
        "running": site.start("slow.yaml"),
    }


# Where each screen is, and what has to be seen there before it is looked at.
SCREENS = {
    "runs": ("/", "main table"),
    "runs-none": ("/?search=nothing-of-this", "h2"),
    "run": ("/runs/{review}", ".react-flow__node"),
    "run-node": ("/runs/{review}?node=refine/code&loop=refine&iteration=2", ".drawer"),
    "run-timeline": ("/runs/{review}?tab=timeline", "svg"),
    "run-journal": ("/runs/{review}?tab=journal", "table"),
    "run-data": ("/runs/{review}?tab=data", ".value"),
    "run-nested": ("/runs/{nested}", ".react-flow__node"),
    "run-each": ("/runs/{each}", ".react-flow__node"),
    "run-each-timeline": ("/runs/{each}?tab=timeline", "svg"),
    "run-failed": ("/runs/{failing}", ".react-flow__node"),
    "run-waiting": ("/runs/{asking}", ".react-flow__node"),
    "run-running": ("/runs/{running}", ".react-flow__node"),
    "compare": ("/runs/{review}/diff?one=1&other=2", ".matrix"),
    "compare-split": ("/runs/{review}/diff?one=1&other=4&view=split", ".matrix"),
    "compare-rendered": ("/runs/{review}/diff?one=1&other=4&view=rendered", ".matrix"),
    "gate-each": ("/runs/{asking}/approvals", ".gate-question"),
    "gate-limit": ("/runs/{judged}/approvals", ".gate-question"),
    "gate": ("/runs/{gated}/approvals", ".gate-question"),
    "gate-none": ("/runs/{review}/approvals", "main h1"),
    "workflows": ("/workflows", ".workflow-list"),
    "workflow": ("/workflows/start?file=order.yaml", ".workflow-start"),
    "workflow-broken": ("/workflows/start?file=flows/broken.yaml", ".problems"),
    "workflow-each": ("/workflows/start?file=each.yaml", ".react-flow__node"),
    "workflow-python": ("/workflows/start?file=research:research", ".workflow-title"),
    "experiments": ("/experiments", "main table"),
    "experiment": ("/experiments/describe", ".experiment-table"),
    "experiment-what-if": ("/experiments/describe?tab=what-if", ".experiment-table"),
    "experiment-judge": ("/experiments/judged?tab=judge", "main table"),
    "experiment-grade": ("/experiments/judged?tab=grade", "main h2, main h3"),
    "costs": ("/costs", "main table"),
    "costs-day": ("/costs?by=day", "main table"),
    "unknown": ("/no/such/page", "main h1"),
    "unknown-run": ("/runs/nothing", "main [role=alert]"),
    "edit-canvas": ("/edit/drafts.yaml", ".edit-canvas .react-flow__node"),
    "edit-step": ("/edit/drafts.yaml?select=review", ".edit-canvas .react-flow__node"),
    "edit-loop": ("/edit/levels.yaml?select=outer", ".edit-canvas .react-flow__node"),
    "edit-inside": ("/edit/levels.yaml?at=outer", ".edit-canvas .react-flow__node"),
    "edit-source": ("/edit/drafts.yaml?mode=source", ".cm-content"),
    "edit-split": ("/edit/drafts.yaml?mode=split&select=write", ".edit-head"),
    "edit-outline": ("/edit/levels.yaml?mode=outline&select=outer/inner", "[role=tree]"),
    "edit-broken": ("/edit/flows%2Fbroken.yaml", ".edit-problems, .edit-banner"),
    "edit-unread": ("/edit/unread.json", ".edit-banner"),
    "edit-shodan": ("/edit/checked.yaml?select=review-loop", "text=Max iterations"),
    "edit-studio": ("/edit/self-refine.json?select=refine", "text=Max iterations"),
    "edit-text": ("/edit/code_loop.yml", ".edit-banner"),
    "edit-count": ("/edit/count.yaml?select=count", "text=Max iterations"),
}


def pressing(name: str) -> Callable[[Page], Any]:
    return lambda page: page.get_by_role("button", name=name).first.click()


# What is opened there, by what is pressed.
OPENED: dict[str, tuple[str, Callable[[Page], Any]]] = {
    "keys": ("/", lambda page: page.locator("main").press("?")),
    "accept": ("/runs/{review}/diff?one=1&other=2", pressing("Accept #2")),
    "continue": ("/runs/{review}/diff?one=1&other=2", pressing("Continue")),
    "new": ("/workflows", pressing("New…")),
    "edit-run": ("/edit/drafts.yaml", pressing("Run…")),
    "edit-keys": ("/edit/drafts.yaml", lambda page: page.locator("main").press("?")),
}


def look(page: Page, name: str) -> list[str]:
    """What is wrong with what is shown, in both widths, each in its colours."""
    wrong: list[str] = []
    for width, height, scheme in LOOKS:
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme)
        expect(page.get_by_text(re.compile("^Loading .*…$"))).to_have_count(0)
        where = f"{name}-{width}-{scheme}"
        picture(page, where)
        wrong += [f"{where}: {one}" for one in findings(page)]
        if page.evaluate("() => document.documentElement.scrollWidth - innerWidth") > 0:
            wrong.append(f"{name}-{width}: something lies beside the window")
    return wrong


@pytest.fixture
def seen(site: Site, page: Page, request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Opens a screen that has something to show."""
    if not AXE.exists():
        pytest.skip("there is no axe-core: `npm ci` in web/ installs it")

    def open_screen(path: str) -> None:
        if path.startswith("/experiments"):
            request.getfixturevalue("studied")
        elif not path.startswith("/edit"):
            path = path.format(**request.getfixturevalue("runs"))
        site.open(page, path)

    return open_screen


@pytest.mark.sample(24)
@pytest.mark.parametrize("name", SCREENS)
def test_a_screen_has_no_findings(page: Page, seen: Callable[[str], None], name: str) -> None:
    path, mark = SCREENS[name]
    seen(path)
    page.locator(mark).first.wait_for()

    assert look(page, name) == []


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", OPENED)
def test_a_dialog_has_no_findings(page: Page, seen: Callable[[str], None], name: str) -> None:
    path, act = OPENED[name]
    seen(path)
    act(page)
    page.get_by_role("dialog").wait_for()

    assert look(page, f"dialog-{name}") == []


@pytest.mark.slow
def test_python_code_is_not_offered_to_the_editor(
    site: Site, page: Page, seen: Callable[[str], None]
) -> None:
    [code] = [one for one in site.get("/workflows")["workflows"] if one["name"] == "research"]
    seen(f"/workflows/start?file={code['file']}")
    page.locator(".workflow-title").filter(has_text="research").wait_for()
    edit = page.get_by_role("link", name="Edit", exact=True)

    expect(edit).to_have_count(0)
    page.get_by_role("link", name="order.yaml").click()
    expect(edit).to_be_visible()
