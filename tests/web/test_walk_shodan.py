"""The code-review loop, drawn from an empty file: by mouse, and by keyboard alone."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from browsed import picture
from editing import step
from playwright.sync_api import expect
from walking import Hands, Keys, Mouse, compare_and_accept, inspector, run_and_watch, until_count

if TYPE_CHECKING:
    from browsed import Site
    from playwright.sync_api import Page

CODER = "Task: {{ task }}\nContext: {{ context }}\n\nWrite code to complete this task."
REVIEWER = "Review this code:\n{{ coder.code }}\n\nRespond with JSON."
INSIDE = "review-loop/"


def port(name: str, kind: str = "string", **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, **more}


LOOP_PORTS = (
    [port("task", required=True), port("guidelines")],
    [port("approved", "boolean"), port("final_code"), port("iterations", "number")],
)
CODER_PORTS = ([port("task"), port("context")], [port("code")])
REVIEWER_PORTS = ([port("code")], [port("approved", "boolean"), port("feedback")])

# The rows of the two tables, as the panel names them.
INPUTS = (
    ("task (outer)", "coder.task", "all"),
    ("guidelines (outer)", "coder.context", "first"),
    ("previous review.feedback", "coder.context", "subsequent"),
)
OUTPUTS = (
    ("review.approved", "approved"),
    ("coder.code", "final_code"),
    ("iteration count", "iterations"),
)
EDGE = {
    "source": "coder",
    "target": "review",
    "sourceHandle": "output:code",
    "targetHandle": "input:code",
}
MAPPED = {
    "continueWhile": {"output": "review.approved", "operator": "==", "value": False},
    "maxIterations": 5,
    "inputMappings": [
        {
            "source": {"type": "outer", "name": "task"},
            "target": {"node": "coder", "input": "task"},
            "iterations": "all",
        },
        {
            "source": {"type": "outer", "name": "guidelines"},
            "target": {"node": "coder", "input": "context"},
            "iterations": "first",
        },
        {
            "source": {"type": "previous", "node": "review", "output": "feedback"},
            "target": {"node": "coder", "input": "context"},
            "iterations": "subsequent",
        },
    ],
}


def name_it(hands: Hands, name: str, path: str) -> None:
    hands.write(inspector(hands.page).get_by_label("name of the step"), name)
    hands.page.keyboard.press("Enter")
    expect(step(hands.page, path)).to_be_visible()


def write_ports(hands: Hands, ports: tuple[list[Any], list[Any]]) -> None:
    """The two tables of ports: names, types, and which of them are needed."""
    form = inspector(hands.page)
    for title, word, rows in (("Inputs", "input", ports[0]), ("Outputs", "output", ports[1])):
        table = form.get_by_role("group", name=title, exact=True)
        for number, row in enumerate(rows, 1):
            if table.get_by_role("listitem").count() < number:
                add = table.get_by_role("button", name=f"Add an {word}")
                until_count(partial(hands.press, add), table.get_by_role("listitem"), number)
            hands.write(table.get_by_label(f"name of {word} {number}"), row["name"])
            hands.choose(table.get_by_label(f"type of {word} {number}"), row["type"])
            if row.get("required"):
                needed = table.get_by_role("checkbox", name=f"required {word} {number}")
                hands.tick(needed)
        expect(table.get_by_role("listitem")).to_have_count(len(rows))


def tell(hands: Hands, label: str, prompt: str, ports: tuple[list[Any], list[Any]]) -> None:
    form = inspector(hands.page)
    hands.write(form.get_by_label("Label", exact=True), label)
    hands.write(form.get_by_label("Runner", exact=True), "canned")
    hands.write(form.get_by_label("Prompt", exact=True), prompt)
    write_ports(hands, ports)


def fill_panel(hands: Hands) -> None:
    """The panel of the loop: continue while, the maximum, and both tables."""
    form = inspector(hands.page)
    while_ = form.get_by_role("group", name="Continue while")
    hands.choose(while_.get_by_label("Output"), "review.approved")
    hands.choose(while_.get_by_label("Operator"), "==")
    hands.choose(while_.get_by_label("Value"), "false")
    hands.write(form.get_by_label("Max iterations"), "5")
    into = form.get_by_role("group", name="Input mappings")
    for number, (source, target, iterations) in enumerate(INPUTS, 1):
        hands.press(into.get_by_role("button", name="Add an input mapping"))
        expect(into.get_by_role("listitem")).to_have_count(number)
        hands.choose(into.get_by_label(f"source of input mapping {number}"), source)
        hands.choose(into.get_by_label(f"target of input mapping {number}"), target)
        hands.choose(into.get_by_label(f"iterations of input mapping {number}"), iterations)
    out = form.get_by_role("group", name="Output mappings")
    for number, (source, target) in enumerate(OUTPUTS, 1):
        hands.press(out.get_by_role("button", name="Add an output mapping"))
        expect(out.get_by_role("listitem")).to_have_count(number)
        hands.choose(out.get_by_label(f"source of output mapping {number}"), source)
        hands.write(out.get_by_label(f"target of output mapping {number}"), target)


def build(hands: Hands, site: Site) -> None:
    """From the empty file to the loop with all that its panel holds."""
    page = hands.page
    hands.new_file(site, "shodan", "review.yaml")
    for name in ("start", "write"):
        hands.remove(name)
    hands.add("Loop", "loop")
    name_it(hands, "review-loop", "review-loop")
    write_ports(hands, LOOP_PORTS)
    hands.press(inspector(page).get_by_role("button", name="Edit inline"))
    expect(page.locator(".crumbs")).to_contain_text("review-loop")
    for name, words, prompt, ports in (
        ("coder", "Coder", CODER, CODER_PORTS),
        ("review", "Reviewer", REVIEWER, REVIEWER_PORTS),
    ):
        hands.add("Agent", f"{INSIDE}agent")
        name_it(hands, name, INSIDE + name)
        tell(hands, words, prompt, ports)
    hands.connect((f"{INSIDE}coder", "code"), (f"{INSIDE}review", "code"))
    expect(page.locator(".edit-canvas .react-flow__edge")).to_have_count(1)
    picture(page, "walk-shodan-inside")
    hands.leave("review-loop", "review.yaml")
    fill_panel(hands)
    picture(page, "walk-shodan")


def check_and_run(hands: Hands, site: Site) -> None:
    hands.save()
    [loop] = yaml.safe_load((site.project / "review.yaml").read_text())["nodes"]
    data = loop["data"]
    inner = data["inlineWorkflow"]

    assert {name: data[name] for name in MAPPED} == MAPPED
    assert [row["target"] for row in data["outputMappings"]] == [name for _, name in OUTPUTS]
    assert [node["id"] for node in inner["nodes"]] == ["coder", "review"]
    [edge] = inner["edges"]
    assert {name: edge[name] for name in EDGE} == EDGE

    inputs = {"task": "rain", "guidelines": "short"}
    other = run_and_watch(hands, site, "review.yaml", inputs, loop="review-loop", turns="2/5")
    compare_and_accept(hands, site, loop="review-loop", other=other)


@pytest.mark.slow
@pytest.mark.parametrize("hand", [Mouse, Keys])
def test_code_review_is_drawn(empty_site: Site, page: Page, hand: type[Hands]) -> None:
    hands = hand(page)
    build(hands, empty_site)
    check_and_run(hands, empty_site)
