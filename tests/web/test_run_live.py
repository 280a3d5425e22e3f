"""The page of a run while it runs: how soon events are seen, streamed text, steering, long runs."""

from __future__ import annotations

import json
import os
import signal
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from browsed import ROOT, picture
from holding import HeldModel
from playwright.sync_api import expect

from waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from browsed import Site
    from playwright.sync_api import Page

# Counts what the page draws anew: elements that come and go, and changes of the others.
NOTE_CHANGED = """() => {
  window.changed = 0;
  const count = one => 1 + one.addedNodes.length + one.removedNodes.length;
  new MutationObserver(list => { list.forEach(one => { window.changed += count(one) }) })
    .observe(document.body, {subtree: true, childList: true, attributes: true});
}"""


LOCKSTEP = """
whorl: 1
name: lockstep
steps:
  l:
    repeat:
      at_most: 4
      steps: {w: {run: "until [ -e shown-{{ iteration }} ]; do sleep 0.02; done"}}
"""

TELLING = """
whorl: 1
name: telling
steps:
  speak: {run: "until [ -e heard ]; do sleep 0.05; done; echo one;
               until [ -e seen ]; do sleep 0.05; done; echo two"}
"""


DOUBTFUL = """
whorl: 1
name: doubtful
budget: 0.02
steps:
  free: {ask: "Write it", model: free, max_tokens: 50}
  known: {ask: "Write it", max_tokens: 50}
  work: {ask: "Write it", max_tokens: 50}
"""
PRICED = """
defaults = {provider = "held", model = "paid"}
prices.paid = {input = 50.0, output = 200.0}
providers.held = {kind = "openai", base_url = "URL", api_key = "k", stream = false}
"""


@pytest.fixture
def slow(site: Site) -> Iterator[str]:
    """A run that turns for a while; ended afterwards."""
    run = site.start("slow.yaml", budget_usd=5)
    yield run
    if site.get(f"/runs/{run}")["status"] not in ("succeeded", "failed", "cancelled"):
        site.post(f"/runs/{run}/cancel")
        site.wait(run, "cancelled")


def shows(site: Site, page: Page, path: str) -> None:
    """Opens the page of a run, and waits for its graph."""
    site.open(page, path)
    page.locator(".piece").first.wait_for()


def chosen_number(page: Page) -> int:
    """The iteration that is looked at."""
    return int(page.get_by_label("iteration number").input_value())


def test_an_event_is_on_the_page_before_the_next_one_can_happen(site: Site, page: Page) -> None:
    """Each iteration waits until the page has shown it: one that lags behind holds all of them."""
    (site.project / "lockstep.yaml").write_text(LOCKSTEP)
    run = site.start("lockstep.yaml")
    shows(site, page, f"/runs/{run}")
    for number in range(1, 5):
        page.locator(".canvas").filter(has_text=f"Iteration {number}/").wait_for()
        (site.project / f"shown-{number}").touch()

    assert site.wait(run, "succeeded")["status"] == "succeeded"


def test_the_page_follows_until_an_iteration_is_chosen(site: Site, page: Page, slow: str) -> None:
    shows(site, page, f"/runs/{slow}")
    first = chosen_number(page)
    wait_until(lambda: chosen_number(page) > max(first, 2))
    assert "left in the budget" in page.locator(".forecast").inner_text()

    # The chips move while iterations come: the one that is meant is told, wherever it is by then.
    page.get_by_title("iteration 2, ").first.dispatch_event("click")
    number = site.get(f"/runs/{slow}")["iteration"]
    wait_until(lambda: site.get(f"/runs/{slow}")["iteration"] > number)
    assert chosen_number(page) == 2
    page.get_by_role("button", name="follow latest").click()
    wait_until(lambda: chosen_number(page) > number)


def test_what_a_task_says_is_shown_as_it_comes(site: Site, page: Page) -> None:
    (site.project / "telling.yaml").write_text(TELLING)
    run = site.start("telling.yaml")
    shows(site, page, f"/runs/{run}?node=speak")
    page.locator('[data-path="speak"][data-status="running"]').wait_for()
    page.locator(".run-title .live-live").wait_for()
    (site.project / "heard").touch()

    page.get_by_role("region", name="Output so far").get_by_text("one").wait_for()
    assert "two" not in page.locator(".drawer").inner_text().replace("echo two", "")
    picture(page, "run-streaming")
    (site.project / "seen").touch()
    page.get_by_role("region", name="Output", exact=True).wait_for()
    page.locator(".drawer .drawer-facts").filter(has_text="succeeded").wait_for()


@pytest.mark.slow
def test_a_run_whose_process_died_is_taken_up_again(site: Site, page: Page) -> None:
    before = site.get("/runs", limit=1)["runs"][0]["id"]
    process = site.spawn("run", "slow.yaml")

    def newest() -> dict[str, Any]:
        return dict(site.get("/runs", limit=1)["runs"][0])

    wait_until(lambda: newest()["id"] != before and newest()["iteration"] > 1)
    run = newest()["id"]
    shows(site, page, f"/runs/{run}")
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()

    page.locator(".run-title").filter(has_text="interrupted").wait_for()
    page.locator(".banner").filter(has_text="The process that drove this run has ended").wait_for()
    page.get_by_role("button", name="Resume").click()
    page.locator(".run-title").filter(has_text="running").wait_for()
    site.post(f"/runs/{run}/cancel")


@pytest.mark.slow
def test_what_was_paid_or_may_have_been_is_reported_at_once(site: Site, page: Page) -> None:
    """Of a call without a price, one with a price, and one in doubt; with no event, too."""
    (site.project / "doubtful.yaml").write_text(DOUBTFUL)
    with closing(HeldModel(held=3)) as model:
        model.hold()
        (site.project / "priced.toml").write_text(PRICED.replace("URL", model.url))
        process = site.spawn("--config", "priced.toml", "run", "doubtful.yaml")
        wait_until(lambda: bool(site.get("/runs", workflow="doubtful", status="running")["runs"]))
        run = site.get("/runs", workflow="doubtful")["runs"][0]["id"]
        shows(site, page, f"/runs/{run}")
        page.locator('[data-path="work"][data-status="running"]').wait_for()
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        model.go.set()
        site.cli("--config", "priced.toml", "resume", run)

    page.locator(".banner").filter(has_text="does not fit into the budget").wait_for()
    figures = page.locator(".run-title .figure, .run-spent")
    told = figures.all_inner_texts()
    assert told[0].endswith("s")
    assert all(words in told[1] for words in ("at least $0.", "1 in doubt: $0.0025 known, $0."))

    page.route(f"**/api/runs/{run}/events*", lambda route: None)
    page.reload()
    expect(page.get_by_text("Reading the journal")).to_be_visible()
    assert figures.all_inner_texts() == told


@pytest.mark.slow
def test_of_a_thousand_iterations_only_what_is_in_view_is_drawn(site: Site, page: Page) -> None:
    run = site.ran("many.yaml")
    site.open(page, f"/runs/{run}")
    chosen = page.locator('.side-iterations tr[aria-selected="true"]')
    chosen.filter(has_text="1000").wait_for()
    page.keyboard.press("k")
    chosen.filter(has_text="999").wait_for()

    # The chips stand for many iterations each.
    assert page.locator(".side-iterations tbody tr").count() < 60
    assert page.locator(".chip").count() < 30
    page.keyboard.press("f")
    page.evaluate(NOTE_CHANGED)
    changed = [changed_while_it_goes_on(site, page, run, number) for number in (1001, 1002)]
    assert max(changed) < 2_000
    picture(page, "run-thousand")


def changed_while_it_goes_on(site: Site, page: Page, run: str, number: int) -> int:
    """How much the page draws anew while an iteration is added."""
    page.evaluate("() => { window.changed = 0 }")
    seen = site.get(f"/runs/{run}")["last_seq"]
    site.post(f"/runs/{run}/continue", {"at": "turns", "iterations": 1, "seen": seen})
    page.locator('.side-iterations tr[aria-selected="true"]').filter(
        has_text=f"{number}"
    ).wait_for()
    page.locator(".exit-banner").filter(has_text=f"returned #{number}").wait_for()
    return int(page.evaluate("() => window.changed"))


DIALECTS = {
    "loom": ("agent.json", "How old is it?"),
    "mcp-cli": ("book.yaml", "a book"),
    "orka": ("society.yml", "x"),
    "shodan": ("review.yaml", "x"),
    "studio": ("judged.json", "x"),
}


@pytest.mark.sample(5)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_runs_of_every_dialect_are_shown(site: Site, page: Page, dialect: str) -> None:
    run = ran_example(site, dialect)
    shows(site, page, f"/runs/{run}")

    loops = page.locator(".piece.kind-loop")
    assert loops.count() >= 1
    page.locator(".exit-banner").filter(has_text="stopped").wait_for()
    page.get_by_title("iteration 1, ").first.click()
    page.wait_for_function("() => location.hash.includes('iteration=1')")
    page.keyboard.press("]")
    page.locator(".drawer").wait_for()
    picture(page, f"run-{dialect}")


def ran_example(site: Site, dialect: str) -> str:
    """Runs an example of a dialect with its own replies, into the store of the site."""
    folder = ROOT / "examples" / dialect
    file, text = DIALECTS[dialect]
    config = ["--config", "demo.toml"] if dialect == "orka" else []
    store = ["--store", str(site.project / ".whorl")]
    done = site.cli("run", file, text, "--json", *config, *store, folder=folder)
    return str(json.loads(done.stdout)["run"])
