"""The self-refine loop, drawn on an empty canvas: by mouse, and by keyboard alone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from browsed import ROOT, picture
from editing import drag, edge_middle, fit, said, step, title
from playwright.sync_api import expect
from walking import Hands, Mouse, compare_and_accept, inspector, run_and_watch

if TYPE_CHECKING:
    from browsed import Site
    from playwright.sync_api import Page

DRAFT = "Write/revise based on feedback: {{input}}"
CRITIQUE = "Critique this draft. List specific improvements needed.\n\n{{draft.output}}"
MERGE = "DRAFT: {{draft.output}}\nCRITIQUE: {{critique.output}}"


def shape(text: str) -> tuple[Any, Any]:
    """What a canvas means: which kinds lead to which, and how its loop is set."""
    canvas = json.loads(text)
    kinds = {node["id"]: node["type"] for node in canvas["nodes"]}
    [loop] = [node["data"] for node in canvas["nodes"] if node["type"] == "loop"]
    names = ("maxIterations", "exitCondition", "feedbackMode")
    edges = sorted((kinds[edge["source"]], kinds[edge["target"]]) for edge in canvas["edges"])
    return edges, {name: loop[name] for name in names}


def tidy(hands: Hands) -> None:
    hands.press(hands.page.get_by_role("button", name="Tidy"))
    expect(said(hands.page)).to_contain_text("placed")
    fit(hands.page)


def name_and_tell(hands: Hands, name: str, field: str, text: str) -> None:
    """Gives the selected step its name and its text."""
    form = inspector(hands.page)
    hands.write(form.get_by_label("name of the step"), name)
    hands.page.keyboard.press("Enter")
    node = hands.page.locator(f'.edit-canvas .react-flow__node[data-id$="{name}"]')
    expect(node).to_be_visible()
    hands.write(form.get_by_label(field, exact=True), text)
    expect(node).to_contain_text(text.partition("\n")[0])


def check_and_run(hands: Hands, site: Site) -> None:
    """The file means what the bundled template means; it runs, and is steered."""
    hands.save()
    template = (ROOT / "src/whorl/templates/studio/self-refine.json").read_text()

    assert shape((site.project / "refine.json").read_text()) == shape(template)

    other = run_and_watch(hands, site, "refine.json", {"task": "rain"}, loop="loop", turns="3/3")
    compare_and_accept(hands, site, loop="loop", other=other)


@pytest.mark.slow
def test_self_refine_by_mouse(empty_site: Site, page: Page) -> None:
    hands = Mouse(page)
    hands.new_file(empty_site, "studio", "refine.json")
    palette = page.get_by_role("complementary", name="palette")
    loop = palette.get_by_role("region", name="LOGIC").get_by_role("button", name="Loop")
    drag(page, loop, edge_middle(page, "task to write"))
    expect(step(page, "loop/exit")).to_be_visible()
    tidy(hands)
    drag(page, title(page, "write"), edge_middle(page, "loop to loop/exit"))
    expect(step(page, "loop/write")).to_be_visible()
    tidy(hands)
    hands.select("loop/write")
    name_and_tell(hands, "draft", "Prompt", DRAFT)
    hands.press(palette.get_by_role("button", name="LLM"))
    expect(step(page, "loop/llm")).to_have_attribute("aria-selected", "true")
    name_and_tell(hands, "critique", "Prompt", CRITIQUE)
    hands.press(palette.get_by_role("button", name="Transform"))
    expect(step(page, "loop/transform")).to_have_attribute("aria-selected", "true")
    name_and_tell(hands, "merge", "Template", MERGE)
    tidy(hands)
    hands.choose(step(page, "loop").get_by_label("Exit of loop"), "max_iterations")
    hands.write(step(page, "loop").get_by_label("Max iterations of loop"), "3")
    picture(page, "walk-studio")
    check_and_run(hands, empty_site)
