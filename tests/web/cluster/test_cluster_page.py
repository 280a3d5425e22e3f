"""The page of a server on a cluster, in a real browser: runs that workers drive are watched,
steered and answered as those of one process are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from browsed import Site, make_project, picture

from cluster.cluster import Server, worker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

CLUSTER = """
[runtime]
kind = "temporal"
[runtime.temporal]
address = "{address}"
queue = "page"
[runtime.temporal.queues]
run = "page"
"""
HELD = """
whorl: 1
name: held
steps:
  turns:
    repeat:
      at_most: 9
      steps:
        speak: {run: "echo one of {{ iteration }};
                     until [ -e shown-{{ iteration }} ]; do sleep 0.05; done; echo two"}
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server of Temporal, a worker, and `whorl serve`, on a project."""
    folder = make_project(tmp_path_factory.mktemp("cluster") / "shop")
    (folder / "held.yaml").write_text(HELD)
    server = Server(tmp_path_factory.mktemp("server"))
    server.start()
    try:
        with (folder / "whorl.toml").open("a") as config:
            config.write(CLUSTER.format(address=server.address))
        with worker(folder), Site(folder) as site:
            yield site
    finally:
        server.stop()


def test_a_run_of_the_cluster_turns_on_the_page_and_is_steered(site: Site, page: Page) -> None:
    """Each iteration waits until the page has shown it, with what its command has said so far."""
    run = site.start("held.yaml")
    site.open(page, f"/runs/{run}?node=turns/speak")
    for number in (1, 2):
        page.locator(".canvas").filter(has_text=f"Iteration {number}/").wait_for()
        said = page.get_by_role("region", name="Output so far")
        said.get_by_text(f"one of {number}").wait_for()
        if number == 2:
            picture(page, "cluster-run")
            page.get_by_role("button", name="Pause").click()
            page.locator(".banner").filter(has_text="Paused").wait_for()
        (site.project / f"shown-{number}").touch()
    head = page.locator(".run-title")
    page.get_by_role("button", name="Resume").click()
    head.filter(has_text="running").wait_for()
    page.locator(".canvas").filter(has_text="Iteration 3/").wait_for()
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Really cancel?").click()
    head.filter(has_text="cancelled").wait_for()

    assert site.wait(run)["status"] == "cancelled"


@pytest.mark.slow
def test_a_loop_continues_and_is_forked_from_the_page(site: Site, page: Page) -> None:
    run = site.ran("review.yaml", {"task": "a parser"})
    site.open(page, f"/runs/{run}")
    banner = page.locator(".exit-banner")
    banner.filter(has_text="returned #4, the best (0.82)").wait_for()
    banner.get_by_role("button", name="Continue +3").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Continue").click()
    page.locator(".canvas").filter(has_text="7/7").wait_for()
    banner.get_by_role("button", name="Fork from #").click()
    dialog.get_by_role("button", name="Fork", exact=True).click()
    page.wait_for_url(lambda url: "/runs/" in url and run not in url)
    page.locator(".exit-banner").wait_for()
    fork = page.url.rpartition("/runs/")[2].split("?")[0]

    assert site.wait(run)["iteration"] == 7
    assert site.wait(fork)["parent"] == run


def test_a_question_of_the_cluster_is_answered_on_the_page(site: Site, page: Page) -> None:
    run = site.ran("gated.yaml")
    site.open(page, f"/runs/{run}/approvals")
    page.get_by_label("Feedback").fill("it's good")
    page.get_by_role("button", name="Approve", exact=True).click()
    page.get_by_role("heading", name="✓ answered").wait_for()

    assert site.wait(run, "succeeded")["result"]["outputs"] == {"ok": True, "words": "it's good"}
