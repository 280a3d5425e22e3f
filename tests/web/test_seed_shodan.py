"""What the design of the loop container promises to those who look at it.

The editor and the page of a run; while a loop is in its turn, a model holds its answer back.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from browsed import ROOT, Site, make_project, picture
from editing import opened, saved, settle, step
from holding import HeldModel
from playwright.sync_api import expect

from waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Locator, Page

LOOP = "review-loop"
INPUTS = ["task", "guidelines"]
OUTPUTS = ["final_code", "approved", "iterations"]
REVIEW = (ROOT / "examples" / "shodan" / "review.yaml").read_text()


@pytest.fixture(scope="module")
def model() -> Iterator[HeldModel]:
    model = HeldModel(held=3)
    try:
        yield model
    finally:
        model.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, model: HeldModel) -> Iterator[Site]:
    project = make_project(tmp_path_factory.mktemp("seed") / "shop")
    with (project / "whorl.toml").open("a") as file:
        file.write('\n[providers.held]\nkind = "openai"\napi_key = "k"\nstream = false\n')
        file.write(f'base_url = "{model.url}"\n')
    (project / "run.yaml").write_text(REVIEW.replace("runner: demo", "runner: held"))
    with Site(project, "--edit") as site:
        yield site


@pytest.fixture
def turning(site: Site, model: HeldModel) -> Iterator[str]:
    """A run in its third iteration, whose model is let go afterwards."""
    model.hold()
    run = site.start("run.yaml", {"task": "Add two numbers"})
    wait_until(lambda: site.get(f"/runs/{run}")["iteration"] == 3)
    yield run
    model.go.set()
    site.wait(run, "succeeded")


def edited(site: Site, page: Page) -> None:
    """The example in the editor, as it was written."""
    (site.project / "edit.yaml").write_text(REVIEW)
    opened(site, page, "edit.yaml")
    expect(step(page, f"{LOOP}/coder")).to_be_visible()
    settle(page)


def panel(site: Site, page: Page) -> Locator:
    """The configuration panel of the loop."""
    edited(site, page)
    step(page, LOOP).locator(".piece-head").first.click()
    form = page.get_by_role("region", name="inspector")
    expect(form.get_by_role("group", name="Continue while")).to_be_visible()
    return form


def loop_saved(site: Site, page: Page) -> Any:
    """What the file says of the loop, once it is saved."""
    [loop] = yaml.safe_load(saved(site, page, "edit.yaml"))["nodes"]
    return loop["data"]


@pytest.mark.slow
def test_a_loop_is_collapsed_expanded_and_drilled_into(site: Site, page: Page) -> None:
    edited(site, page)
    page.get_by_role("button", name="collapse Review Loop").click()

    expect(step(page, f"{LOOP}/coder")).to_have_count(0)
    expect(step(page, LOOP).locator(".port-in")).to_have_text(INPUTS)
    expect(step(page, LOOP).locator(".port-out")).to_have_text(OUTPUTS)

    page.get_by_role("button", name="expand Review Loop").click()

    expect(step(page, f"{LOOP}/coder")).to_be_visible()
    expect(step(page, f"{LOOP}/review")).to_be_visible()
    label = f"{LOOP}/coder.code to {LOOP}/review"
    expect(page.locator(f'.react-flow__edge[aria-label="{label}"]')).to_have_count(1)

    step(page, LOOP).locator(".piece-head").first.dblclick()
    expect(page.locator(".crumbs")).to_contain_text(LOOP)
    expect(step(page, LOOP)).to_have_count(0)
    expect(step(page, f"{LOOP}/coder")).to_be_visible()
    page.locator(".crumbs").get_by_role("button", name="edit.yaml").click()

    expect(step(page, LOOP)).to_be_visible()


def test_the_running_iteration_is_counted_and_marked(
    site: Site, page: Page, turning: str, model: HeldModel
) -> None:
    site.open(page, f"/runs/{turning}")
    loop = page.locator(f'[data-path="{LOOP}"]')

    expect(loop.get_by_text("Iteration 3/5")).to_be_visible()
    page.get_by_label(f"close {LOOP}").click()
    expect(page.locator(f'[data-path="{LOOP}"].is-closed')).to_contain_text("Iteration 3/5")
    picture(page, "seed-run-turning-closed")
    page.get_by_label(f"open {LOOP}").click()
    chips = page.get_by_role("group", name=f"iterations of {LOOP}").get_by_role("button")

    expect(chips).to_have_count(3)
    expect(chips.nth(0)).to_have_attribute("title", "iteration 1, succeeded")
    expect(chips.nth(2)).to_have_attribute("title", "iteration 3, running")
    expect(page.locator(f'[data-path="{LOOP}/coder"]')).to_have_attribute("data-status", "running")
    picture(page, "seed-run-turning")
    model.go.set()
    expect(chips.nth(2)).to_have_attribute("title", re.compile("^iteration 3, succeeded"))
    expect(page.locator(f'[data-path="{LOOP}"]')).to_contain_text("3/5")


@pytest.mark.slow
def test_the_panel_says_while_what_the_loop_repeats_how_often_and_with_what(
    site: Site, page: Page
) -> None:
    form = panel(site, page)
    condition = form.get_by_role("group", name="Continue while")
    operators = condition.get_by_label("Operator").locator("option")
    expect(condition.get_by_label("Output")).to_have_value("review.approved")
    expect(operators).to_have_text(["== (default)", "==", "!=", "<", ">", "<=", ">="])
    condition.get_by_label("Operator").select_option("!=")
    condition.get_by_label("Value").select_option("true")
    most = form.get_by_label("Max iterations")
    most.fill("7")

    table = form.get_by_role("group", name="Input mappings")
    expect(table.get_by_label("source of input mapping 1")).to_have_value("task (outer)")
    expect(table.get_by_label("target of input mapping 2")).to_have_value("coder.context")
    third = table.get_by_label("iterations of input mapping 3")
    expect(third).to_have_value("subsequent")
    expect(third.locator("option")).to_have_text(["all", "first", "after"])
    table.get_by_role("button", name="Add an input mapping").click()
    table.get_by_label("source of input mapping 4").select_option("previous coder.code")
    table.get_by_label("target of input mapping 4").select_option("review.code")
    table.get_by_role("button", name="Move input mapping 4 up").click()
    expect(table.get_by_label("source of input mapping 3")).to_have_value("previous coder.code")
    table.get_by_role("button", name="Move input mapping 3 down").click()
    table.get_by_role("button", name="Remove input mapping 1").click()

    table = form.get_by_role("group", name="Output mappings")
    expect(table.get_by_label("source of output mapping 1")).to_have_value("coder.code")
    expect(table.get_by_label("source of output mapping 3")).to_have_value("iteration count")
    takes = table.get_by_label("take of output mapping 1").locator("option")
    expect(takes).to_have_text(["last", "first", "all"])
    table.get_by_role("button", name="Add an output mapping").click()
    table.get_by_label("source of output mapping 4").select_option("review.feedback")
    table.get_by_label("target of output mapping 4").fill("words")
    table.get_by_label("take of output mapping 4").select_option("all")
    table.get_by_role("button", name="Remove output mapping 2").click()

    data = loop_saved(site, page)
    assert data["continueWhile"] == {"output": "review.approved", "operator": "!=", "value": True}
    assert data["maxIterations"] == 7
    rows = data["inputMappings"]
    assert [row["target"]["input"] for row in rows] == ["context", "context", "code"]
    assert rows[2]["source"] == {"type": "previous", "node": "coder", "output": "code"}
    rows = data["outputMappings"]
    assert [row["target"] for row in rows] == ["final_code", "iterations", "words"]
    assert rows[2]["source"] == {"node": "review", "output": "feedback"}
    assert rows[2]["take"] == "all"


@pytest.mark.slow
def test_ports_of_the_loop_are_a_table_with_their_mappings(site: Site, page: Page) -> None:
    form = panel(site, page)
    table = form.get_by_role("group", name="Inputs", exact=True)
    expect(table.get_by_label("name of input 1")).to_have_value("task")
    expect(table.get_by_label("type of input 1")).to_have_value("string")
    expect(table.get_by_role("checkbox", name="required input 1")).to_be_checked()
    expect(table.get_by_label("default of input 2")).to_have_value("Keep it short")
    expect(table.locator(".port-mapped")).to_have_text(["→ coder.task", "→ coder.context"])
    given = form.get_by_role("group", name="Outputs", exact=True)
    ends = ["← coder.code", "← review.approved", "← iteration count"]
    expect(given.locator(".port-mapped")).to_have_text(ends)

    # A port that is renamed takes its mappings along.
    form.get_by_role("group", name="Inputs", exact=True).get_by_label("name of input 1").fill("job")
    page.keyboard.press("Enter")
    expect(step(page, LOOP).locator(".port-in")).to_have_text(["job", "guidelines"])
    expect(form.get_by_label("source of input mapping 1")).to_have_value("job (outer)")

    assert loop_saved(site, page)["inputMappings"][0]["source"]["name"] == "job"
    page.keyboard.press("Control+z")
    expect(step(page, LOOP).locator(".port-in")).to_have_text(INPUTS)
    assert saved(site, page, "edit.yaml") == REVIEW

    # Ports are added, typed and removed.
    table.get_by_role("button", name="Add an input").click()
    expect(table.get_by_label("name of input 3")).to_have_value("input")
    expect(table.locator(".port-mapped").last).to_have_text("not mapped")
    table.get_by_label("name of input 3").fill("tries")
    table.get_by_label("type of input 3").select_option("number")
    table.get_by_role("checkbox", name="required input 3").check()
    table.get_by_text("more of input 3").click()
    table.get_by_label("default of input 3").fill("4")
    table.get_by_role("button", name="Remove input 2").click()
    expect(table.get_by_role("listitem")).to_have_count(2)

    assert loop_saved(site, page)["inputs"] == [
        {"name": "task", "type": "string", "required": True},
        {"name": "tries", "type": "number", "required": True, "default": 4},
    ]

    # Those inside are a table, too.
    edited(site, page)
    step(page, f"{LOOP}/coder").locator(".piece-head").first.click()
    expect(form.get_by_label("name of input 2")).to_have_value("context")
    form.get_by_label("name of output 1").fill("draft")
    page.keyboard.press("Enter")
    expect(step(page, LOOP).locator(".port-out")).to_have_text(OUTPUTS)
    [inner] = loop_saved(site, page)["inlineWorkflow"]["edges"]
    assert inner["sourceHandle"] == "output:draft"


@pytest.mark.slow
def test_the_body_is_another_file_or_edited_inline(site: Site, page: Page) -> None:
    inner = panel(site, page).get_by_role("group", name="Inner workflow")
    inner.get_by_role("button", name="Select file").click()
    inner.get_by_label("File", exact=True).select_option("run.yaml")

    expect(inner.locator("code")).to_have_text("run.yaml")
    assert loop_saved(site, page)["workflowRef"] == "run.yaml"

    panel(site, page).get_by_role("button", name="Edit inline").click()
    expect(page.locator(".crumbs")).to_contain_text(LOOP)
    step(page, f"{LOOP}/coder").locator(".piece-head").click()
    label = page.get_by_role("region", name="inspector").get_by_label("Label", exact=True)
    label.fill("Author")
    label.press("Enter")
    expect(step(page, f"{LOOP}/coder")).to_contain_text("Author")

    assert saved(site, page, "edit.yaml") == REVIEW.replace("label: Coder", "label: Author")
