"""What the two designs of a canvas promise to those who look at it, one test each."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from browsed import ROOT, Site, make_project, picture
from playwright.sync_api import expect

from editing import opened, settle, step

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

PURPLE = "rgb(74, 42, 106)"  # #4a2a6a


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    project = make_project(tmp_path_factory.mktemp("seeds") / "shop")
    for name in ("shodan/review.yaml", "studio/self-refine.json"):
        text = (ROOT / "examples" / name).read_text().replace("runner: demo", "runner: canned")
        (project / ("code-" + name.rpartition("/")[2])).write_text(text)
    site = Site(project, "--edit")
    try:
        yield site
    finally:
        site.close()


def test_a_mapped_loop_collapses_to_one_node_with_its_ports(site: Site, page: Page) -> None:
    opened(site, page, "code-review.yaml")
    page.get_by_role("button", name="collapse Review Loop").click()
    loop = step(page, "review-loop")

    expect(step(page, "review-loop/coder")).to_have_count(0)
    expect(loop.locator(".port-in")).to_have_text(["task", "guidelines"])
    expect(loop.locator(".port-out")).to_have_text(["final_code", "approved", "iterations"])


def test_a_mapped_loop_expands_to_its_body(site: Site, page: Page) -> None:
    opened(site, page, "code-review.yaml")
    page.get_by_role("button", name="collapse Review Loop").click()
    page.get_by_role("button", name="expand Review Loop").click()

    expect(step(page, "review-loop/coder")).to_be_visible()
    expect(step(page, "review-loop/review")).to_be_visible()
    label = "review-loop/coder.code to review-loop/review"
    expect(page.locator(f'.react-flow__edge[aria-label="{label}"]')).to_have_count(1)


def test_drill_down_opens_the_body_and_edits_it_inline(site: Site, page: Page) -> None:
    before = (site.project / "code-review.yaml").read_text()
    opened(site, page, "code-review.yaml")
    page.get_by_role("treeitem", name="Review Loop").first.locator(".piece-head").first.click()
    page.get_by_role("button", name="Edit inline").click()
    expect(page.locator(".crumbs")).to_contain_text("review-loop")
    expect(step(page, "review-loop")).to_have_count(0)
    step(page, "review-loop/coder").locator(".piece-head").click()
    label = page.get_by_role("region", name="inspector").get_by_label("Label", exact=True)
    label.fill("Author")
    label.press("Enter")
    expect(step(page, "review-loop/coder")).to_contain_text("Author")
    page.keyboard.press("Control+s")
    expect(page.locator(".edit-changes")).to_have_count(0)

    text = (site.project / "code-review.yaml").read_text()
    assert text == before.replace("label: Coder", "label: Author")


def test_loop_and_exit_stand_in_logic_in_the_order_of_the_design(site: Site, page: Page) -> None:
    opened(site, page, "code-self-refine.json")
    logic = page.get_by_role("complementary", name="palette").get_by_role("region", name="LOGIC")
    wanted = ["Approval", "Transform", "Validator", "Iterator", "Aggregator", "Loop", "Exit"]

    expect(logic.get_by_role("button")).to_have_text([re.compile(name) for name in wanted])


def test_loop_and_exit_are_purple_with_their_icons(site: Site, page: Page) -> None:
    opened(site, page, "code-self-refine.json")
    kinds = {
        kind["kind"]: kind
        for group in site.get("/palette", dialect="studio")["groups"]
        for kind in group["kinds"]
    }
    heads = [step(page, "refine").locator(".edit-card-head")]
    heads.append(step(page, "refine/leave").locator(".piece-head"))

    assert (kinds["loop"]["icon"], kinds["exit"]["icon"]) == ("repeat", "log-out")
    for head in heads:
        expect(head).to_have_css("background-color", PURPLE)
        expect(head.locator("svg")).to_be_visible()
    picture(page, "seed-studio")


def test_a_canvas_loop_has_three_fields_and_three_outputs_on_the_node(
    site: Site, page: Page
) -> None:
    opened(site, page, "code-self-refine.json")
    settle(page)
    loop = step(page, "refine")
    expect(loop.locator(".card-field > span")).to_have_text(["Max iterations", "Exit", "Feedback"])
    expect(loop.locator(".port-out")).to_have_text(["output", "iterations", "count"])
    loop.get_by_label("Max iterations").fill("2")
    loop.get_by_label("Exit").select_option("stable_output")
    loop.get_by_label("Feedback").select_option("append")
    expect(loop.get_by_label("Feedback")).to_have_value("append")
    page.keyboard.press("Control+s")
    expect(page.locator(".edit-changes")).to_have_count(0)

    nodes = json.loads((site.project / "code-self-refine.json").read_text())["nodes"]
    [data] = [node["data"] for node in nodes if node["type"] == "loop"]
    assert (data["maxIterations"], data["exitCondition"], data["feedbackMode"]) == (
        2,
        "stable_output",
        "append",
    )
