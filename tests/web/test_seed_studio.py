"""What the design of the loop and exit nodes promises to those who look at it, one test each."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from browsed import ROOT, picture
from editing import opened, saved, settle, step
from playwright.sync_api import expect

if TYPE_CHECKING:
    from browsed import Site
    from playwright.sync_api import Locator, Page

PURPLE = "rgb(74, 42, 106)"  # #4a2a6a
OUTPUTS = ["output", "iterations", "count"]


@pytest.fixture(scope="module", autouse=True)
def files(site: Site) -> None:
    text = (ROOT / "examples" / "studio" / "self-refine.json").read_text()
    (site.project / "refine.json").write_text(text)


def test_loop_and_exit_look_as_in_the_design(site: Site, page: Page) -> None:
    opened(site, page, "refine.json")
    logic = page.get_by_role("complementary", name="palette").get_by_role("region", name="LOGIC")
    wanted = ["Approval", "Transform", "Validator", "Iterator", "Aggregator", "Loop", "Exit"]

    expect(logic.get_by_role("button")).to_have_text([re.compile(name) for name in wanted])
    kinds = {
        kind["kind"]: kind
        for group in site.get("/palette", dialect="studio")["groups"]
        for kind in group["kinds"]
    }
    palette = page.get_by_role("complementary", name="palette")

    assert (kinds["loop"]["icon"], kinds["exit"]["icon"]) == ("repeat", "log-out")
    for kind, head in heads(page).items():
        expect(head.locator("svg")).to_be_visible()
        drawn = palette.locator(f'[data-kind="{kind}"] svg').first.inner_html()
        assert head.locator("svg").first.inner_html() == drawn
        expect(head).to_have_css("background-color", PURPLE)
    picture(page, "seed-studio")


def heads(page: Page) -> dict[str, Locator]:
    """The heads of both nodes on the canvas, by kind."""
    return {
        "loop": step(page, "refine").locator(".edit-card-head"),
        "exit": step(page, "refine/leave").locator(".piece-head"),
    }


def test_a_loop_has_three_fields_and_three_outputs_on_its_node(site: Site, page: Page) -> None:
    opened(site, page, "refine.json")
    settle(page)
    loop = step(page, "refine")
    expect(loop.locator(".port-out")).to_have_text(OUTPUTS)
    expect(loop.locator(".card-field > span")).to_have_text(["Max iterations", "Exit", "Feedback"])
    loop.get_by_label("Max iterations").fill("2")
    loop.get_by_label("Exit").select_option("stable_output")
    loop.get_by_label("Feedback").select_option("append")
    expect(loop.get_by_label("Feedback")).to_have_value("append")
    nodes = json.loads(saved(site, page, "refine.json"))["nodes"]

    [data] = [node["data"] for node in nodes if node["type"] == "loop"]
    assert (data["maxIterations"], data["exitCondition"], data["feedbackMode"]) == (
        2,
        "stable_output",
        "append",
    )
