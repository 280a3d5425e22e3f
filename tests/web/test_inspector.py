"""The inspector: forms of steps, the panels of loops, edges, and the step's own lines."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import quote

import editing
import pytest
from browsed import ROOT, picture
from playwright.sync_api import expect

if TYPE_CHECKING:
    from collections.abc import Callable

    from browsed import Site
    from playwright.sync_api import Locator, Page

POLISH = """\
whorl: 1
name: polish
# What a run is given.
inputs:
  task: string
steps:
  # The loop.
  polish:
    repeat:
      until: review.approved  # the reviewer decides
      at_most: 5
      carry:
        feedback: "{{ review.feedback }}"
      steps:
        write:
          ask: |
            Write {{ task }}.
            Mind: {{ feedback | default('') }}
        review:
          ask: "Review {{ write }}"
          returns: {approved: boolean, score: number, feedback: string}
  publish: {ask: "Publish {{ polish.write }}", description: last}
outputs:
  text: "{{ publish }}"
"""


@pytest.fixture(scope="module", autouse=True)
def files(site: Site) -> None:
    text = (ROOT / "examples" / "studio" / "self-refine.json").read_text()
    (site.project / "self-refine.json").write_text(text)


def opened(site: Site, page: Page, file: str, *path: str) -> Locator:
    """The inspector of a file, with one of its steps selected."""
    editing.opened(site, page, quote(file, safe=""), "?mode=outline")
    page.get_by_role("tree").wait_for()
    for step in path:
        page.get_by_role("treeitem", name=step).first.click()
    return page.get_by_role("region", name="inspector")


def native(site: Site, page: Page, *path: str) -> Locator:
    (site.project / "polish.yaml").write_text(POLISH)
    return opened(site, page, "polish.yaml", *path)


def saved(site: Site, page: Page, file: str) -> str:
    """The file after the page has saved it, with all changes that were on their way."""
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".edit-changes")).to_have_count(0)
    return (site.project / file).read_text()


def test_a_form_is_made_from_the_palette(site: Site, page: Page) -> None:
    form = native(site, page, "publish ask")

    expect(form.get_by_label("Prompt required")).to_have_value("Publish {{ polish.write }}")
    form.get_by_text("More fields").click()
    form.get_by_label("temperature").fill("0.2")
    form.get_by_label("temperature").press("Enter")
    expect(form.get_by_label("temperature")).to_have_value("0.2")
    text = saved(site, page, "polish.yaml")

    assert text == POLISH.replace("description: last}", "description: last, temperature: 0.2}")

    # A text changes where it was typed into.
    form = native(site, page, "write ask")
    prompt = "Write {{ task }} well.\nMind: {{ feedback | default('') }}\n"
    form.get_by_label("Prompt required").fill(prompt)
    form.get_by_label("name of the step").focus()
    text = saved(site, page, "polish.yaml")
    assert text == POLISH.replace("Write {{ task }}.", "Write {{ task }} well.")


def test_the_loop_is_a_sentence(site: Site, page: Page) -> None:
    form = native(site, page, "polish repeat")
    expect(form.get_by_text("until review.approved, at most 5 iterations")).to_be_visible()
    expect(form.get_by_label("at the limit")).to_have_value("")
    picture(page, "inspector-loop")
    form.get_by_role("spinbutton", name="at most").fill("7")
    form.get_by_role("spinbutton", name="at most").press("Enter")
    expect(form.get_by_text("at most 7 iterations")).to_be_visible()
    text = saved(site, page, "polish.yaml")

    assert text == POLISH.replace("at_most: 5", "at_most: 7")
    form = opened(site, page, "polish.yaml", "polish repeat")
    form.get_by_text("another limit…").click()
    form.get_by_label("at most, dollars").fill("0.5")
    form.get_by_label("at most, dollars").press("Enter")
    expect(form.get_by_text("at most 7 iterations, $0.50")).to_be_visible()
    form.get_by_label("at the limit").select_option("fail")
    expect(form.get_by_label("at the limit")).to_have_value("fail")
    text = saved(site, page, "polish.yaml")

    assert "      at_most:\n        iterations: 7\n        cost: 0.5\n" in text
    assert "on_limit: fail" in text
    assert site.cli("validate", "polish.yaml").returncode == 0


def test_conditions_are_chips_with_or_and_and(site: Site, page: Page) -> None:
    form = native(site, page, "polish repeat")
    until = form.get_by_role("group", name="repeat until")
    until.get_by_role("button", name="+ or").click()
    second = until.get_by_role("group", name="expression").nth(1)
    second.get_by_label("kind of condition").select_option("stable")
    expect(form.get_by_text("until review.approved or 95% alike, at most 5")).to_be_visible()
    until.get_by_role("button", name="+ and").click()
    expect(until.get_by_role("list", name="all of these")).to_be_visible()
    third = until.get_by_role("group", name="expression").nth(1)
    third.get_by_label("kind of condition").select_option("score")
    third = until.get_by_role("group", name="score ≥")
    third.get_by_label("at least").fill("0.9")
    third.get_by_label("at least").press("Enter")
    words = "until review.approved or 95% alike and score ≥ 0.90, at most 5 iterations"
    expect(form.get_by_text(words)).to_be_visible()
    form.get_by_label("return").select_option("best")
    picture(page, "inspector-until")
    until.get_by_role("button", name="Remove the condition output stable ≥").click()
    words = words.replace("95% alike and ", "")
    expect(form.get_by_text(words)).to_be_visible()
    text = saved(site, page, "polish.yaml")

    assert "# the reviewer decides" in text
    assert "return: best" in text
    assert words in site.cli("file", "graph", "polish.yaml").stdout


@pytest.mark.slow
def test_what_is_fed_back_is_named_and_lines_are_edited_as_text(site: Site, page: Page) -> None:
    form = native(site, page, "polish repeat")
    carry = form.get_by_role("group", name="feed back")
    carry.get_by_role("button", name="+ value").click()
    carry.get_by_label("name of the value").nth(1).fill("before")
    carry.get_by_label("name of the value").nth(1).press("Enter")
    expect(carry.get_by_label("value of before")).to_have_value("{{ review }}")
    text = saved(site, page, "polish.yaml")

    assert 'feedback: "{{ review.feedback }}"\n        before: "{{ review }}"\n' in text

    form = native(site, page, "polish repeat")
    form.get_by_role("tab", name="Source").click()
    lines = form.get_by_label("lines of polish")
    own = lines.input_value()
    assert own.startswith("# The loop.\npolish:\n  repeat:\n")
    lines.fill(own.replace("at_most: 5", "at_most: 6  # six"))
    form.get_by_role("button", name="Apply").click()
    assert saved(site, page, "polish.yaml") == POLISH.replace("at_most: 5", "at_most: 6  # six")


@pytest.mark.slow
def test_edges_are_cut_and_made_by_menus(site: Site, page: Page) -> None:
    before = (site.project / "self-refine.json").read_text()
    row = page.get_by_role("treeitem", name="llm").first
    form = opened(site, page, "self-refine.json")
    row.click()
    edges = form.get_by_role("region", name="edges of the step")
    words = edges.get_by_role("listitem").first.get_by_role("button").first.inner_text()
    source, _, target = words.partition(" → ")
    edges.get_by_role("button", name=f"Disconnect: {words}").click()
    expect(edges.get_by_text(words)).to_have_count(0)
    page.get_by_role("treeitem").filter(has_text=source).first.click()
    edges.get_by_label("Connect to").select_option(target)
    edges.get_by_role("button", name="Connect", exact=True).click()
    expect(edges.get_by_text(words)).to_be_visible()
    text = saved(site, page, "self-refine.json")

    assert json.loads(text)["nodes"] == json.loads(before)["nodes"]


@pytest.mark.slow
def test_a_canvas_loop_has_its_three_fields_and_its_clamps(site: Site, page: Page) -> None:
    form = opened(site, page, "self-refine.json", "loop")
    form.get_by_label("Exit").select_option("evaluator")
    expect(form.get_by_text("This loop has no router")).to_be_visible()
    expect(form.get_by_label("Stability threshold")).to_have_count(0)
    most = form.get_by_label("Max iterations")
    most.fill("70")
    expect(most).to_have_value("50")
    expect(form.get_by_text("can have from 1 to 50 iterations")).to_be_visible()
    most.fill("4")
    most.press("Enter")
    form.get_by_label("Exit").select_option("stable_output")
    threshold = form.get_by_label("Stability threshold")
    threshold.fill("0.9")
    threshold.press("Enter")
    form.get_by_label("Feedback").select_option("append")
    expect(form.get_by_text("the output is appended to the input")).to_be_visible()
    picture(page, "inspector-canvas-loop")
    data = {one["id"]: one for one in json.loads(saved(site, page, "self-refine.json"))["nodes"]}
    [loop] = [one["data"] for one in data.values() if one["type"] == "loop"]

    assert loop["maxIterations"] == 4
    assert (loop["exitCondition"], loop["stabilityThreshold"]) == ("stable_output", 0.9)
    assert loop["feedbackMode"] == "append"


@pytest.mark.slow
def test_the_workflow_itself_has_a_form(site: Site, page: Page) -> None:
    form = native(site, page)
    expect(form.get_by_label("name", exact=True)).to_have_value("polish")
    inputs = form.get_by_role("group", name="inputs")
    inputs.get_by_role("button", name="+ input").click()
    inputs.get_by_label("name of the input").nth(1).fill("tone")
    inputs.get_by_label("name of the input").nth(1).press("Enter")
    inputs.get_by_label("type of tone").wait_for()
    inputs.get_by_label("optional").nth(1).check()
    form.get_by_label("budget").fill("1.5")
    form.get_by_label("budget").press("Enter")
    expect(inputs.get_by_label("optional").nth(1)).to_be_checked()
    picture(page, "inspector-workflow")
    text = saved(site, page, "polish.yaml")

    assert "  task: string\n  tone: string?\n" in text
    assert "\nbudget: 1.5\n" in text
    assert site.cli("validate", "polish.yaml").returncode == 0


@pytest.mark.slow
def test_anybody_can_use_it(site: Site, page: Page, check_access: Callable[[Page], None]) -> None:
    for step in ("polish repeat", "write ask"):
        form = native(site, page, step)
        for fold in form.locator("details").all():
            fold.evaluate("fold => { fold.open = true }")
        check_access(page)
    form.get_by_role("tab", name="Source").click()
    form.get_by_label("lines of write").wait_for()
    check_access(page)
    page.get_by_role("button", name="The workflow").click()
    form.get_by_role("group", name="outputs").wait_for()
    check_access(page)
    page.get_by_role("button", name="New…").click()
    page.get_by_label("File", exact=True).wait_for()
    check_access(page)
