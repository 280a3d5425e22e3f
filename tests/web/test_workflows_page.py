"""The workflows of the project: list, graph, problems, and starting a run."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from browsed import ROOT, picture, ready
from playwright.sync_api import expect

if TYPE_CHECKING:
    from browsed import Site
    from playwright.sync_api import Page


EXAMPLES = {
    "shodan": "review.yaml",
    "orka": "quality_loop.yml",
    "studio": "judged.json",
    "loom": "pages.json",
    "mcp-cli": "refine_document.yaml",
}


def opened(site: Site, page: Page, file: str) -> Page:
    """The page with one workflow."""
    site.open(page, f"/workflows/start?file={file}")
    page.locator(".workflow-title").wait_for()
    return page


def run_on(page: Page) -> str:
    """The run that the page has gone to."""
    page.wait_for_url("**/#/runs/*")
    return page.url.rpartition("/")[2].partition("?")[0]


def test_all_workflows_are_listed_with_their_dialect(site: Site, page: Page) -> None:
    site.example("review.yaml", {"task": "a parser"})
    site.open(page, "/workflows")
    entries = page.get_by_role("navigation", name="workflows").get_by_role("link")

    listed = entries.and_(page.locator('[href$="file=review.yaml"]'))
    expect(listed).to_contain_text("native")
    expect(entries.filter(has_text="broken.yaml")).to_contain_text("1 problem")
    assert entries.count() == len(site.get("/workflows")["workflows"])
    # They stand in their folders, with their last run.
    page.get_by_role("region", name="flows").get_by_text("flows/broken.yaml").wait_for()
    listed.get_by_text("last run").wait_for()
    listed.click()
    page.get_by_role("heading", name="Start a run").wait_for()

    # A step is read before anything runs.
    page.get_by_label("graph of review").get_by_role("group", name="task code").click()
    settings = page.get_by_role("region", name="settings of code")
    expect(settings).to_contain_text("Write code for {{ task }}. Mind: {{ feedback")
    expect(settings).to_contain_text("ask")
    page.get_by_text("The file", exact=True).click()
    expect(page.get_by_label("source of review.yaml")).to_contain_text("at_most: 4")
    picture(page, "workflow-settings")
    opened(site, page, "nested.yaml")
    canvas = page.get_by_label("graph of nested")

    for name in ("loop draft", "task code", "loop fix", "task repair", "task check", "task rate"):
        expect(canvas.get_by_role("group", name=name)).to_be_visible()
    picture(page, "workflow")


@pytest.mark.sample(5)
@pytest.mark.parametrize("dialect", EXAMPLES)
def test_workflows_of_every_dialect_are_shown(site: Site, page: Page, dialect: str) -> None:
    folder = site.project / dialect
    shutil.copytree(ROOT / "examples" / dialect, folder)
    (folder / "whorl.toml").unlink(missing_ok=True)
    file = f"{dialect}/{EXAMPLES[dialect]}"
    opened(site, page, file)

    expect(page.locator(".workflow-title .badge")).to_have_text(dialect)
    expect(page.locator(".workflow-canvas .container").first).to_be_visible()
    expect(page.get_by_role("region", name="start a run")).to_contain_text(f"whorl run {file}")
    picture(page, f"workflow-{dialect}")


def test_problems_have_their_place_in_the_file(site: Site, page: Page) -> None:
    bad = "whorl: 1\nname: bad\nsteps:\n  a: {asq: hello}\n  b: {ask: hello, modle: x}\n"
    (site.project / "bad.yaml").write_text(bad)
    opened(site, page, "flows/broken.yaml")
    problems = page.get_by_role("region", name="problems")

    expect(problems).to_contain_text("flows/broken.yaml:4:7")
    expect(problems).to_contain_text("error W004")
    expect(problems).to_contain_text("did you mean 'ask'?")
    assert page.get_by_role("button", name="Start", exact=True).count() == 0
    picture(page, "workflow-broken")

    # They show their lines in the order of the file.
    opened(site, page, "bad.yaml")
    problems = page.get_by_role("region", name="problems")
    expect(problems.get_by_label("line 4")).to_contain_text("a: {asq: hello}")
    told = [one.get_attribute("aria-label") for one in problems.locator(".excerpt").all()]
    page.get_by_text("The file", exact=True).click()
    marked = page.locator(".listing .is-marked")

    assert told == ["line 4", "line 5"]
    expect(marked).to_have_count(2)
    expect(marked.first).to_contain_text("asq")
    (site.project / "bad.yaml").unlink()


def test_typed_inputs_make_a_form_that_starts_a_run(site: Site, page: Page) -> None:
    opened(site, page, "order.yaml")
    expect(page.get_by_label("pages")).to_have_value("3")
    expect(page.get_by_label("strict")).to_be_checked()
    expect(page.get_by_role("button", name="Start")).to_be_disabled()
    page.get_by_label("topic").fill("mayflies")
    page.get_by_label("tags").fill("[1,")
    expect(page.get_by_text("this is not JSON").first).to_be_visible()
    expect(page.get_by_role("button", name="Start")).to_be_disabled()
    page.get_by_label("pages").fill("4")
    page.get_by_label("strict").uncheck()
    page.get_by_label("tags").fill('["x", "y"]')
    page.get_by_label("Budget").fill("0.9")
    page.get_by_label("Max iterations").fill("2")
    command = (
        "whorl run order.yaml -i topic=mayflies -i pages:=4 -i strict:=false "
        '-i \'tags:=["x","y"]\' --budget 0.9 --max-iterations 2'
    )
    expect(page.get_by_text(command)).to_be_visible()
    picture(page, "workflow-start")
    page.get_by_role("button", name="Start").click()
    found = site.wait(run_on(page))

    assert found["status"] == "succeeded"
    assert found["inputs"] == {
        "topic": "mayflies",
        "pages": 4,
        "strict": False,
        "tags": ["x", "y"],
    } | {name: found["inputs"][name] for name in found["inputs"] if name == "note"}
    assert found["budget_usd"] == 0.9


def test_the_shown_command_does_the_same(site: Site, page: Page) -> None:
    opened(site, page, "order.yaml")
    page.get_by_label("topic").fill('it\'s "rain"')
    words = page.locator(".workflow-start .same-command code").inner_text()
    done = site.cli_shell(words)

    assert done.returncode == 0, done.stderr


def test_a_run_is_started_again_with_its_inputs(site: Site, page: Page) -> None:
    run = site.ran("order.yaml", {"topic": "bees", "pages": 7}, budget_usd=0.8)
    site.open(page, f"/workflows/start?file=order.yaml&from={run}")

    expect(page.get_by_label("topic")).to_have_value("bees")
    expect(page.get_by_label("pages")).to_have_value("7")
    expect(page.get_by_label("Budget")).to_have_value("0.8")


def test_a_form_is_filled_and_sent_by_keys(site: Site, page: Page) -> None:
    opened(site, page, "gated.yaml")
    ready(page.get_by_role("button", name="Start")).focus()
    page.keyboard.press("Enter")

    assert site.wait(run_on(page))["status"] == "waiting"
