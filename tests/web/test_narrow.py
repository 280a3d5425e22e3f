"""Small windows: every screen fits, and nothing lies beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from browsed import picture

if TYPE_CHECKING:
    from browsed import Site
    from playwright.sync_api import Page

SCREENS = {
    "runs": ("/", ".screen"),
    "run": ("/runs/{run}", "[aria-label='steer the run']"),
    "compare": ("/runs/{run}/compare", ".matrix"),
    "gate": ("/runs/{waiting}/gate", ".gate-question"),
    "workflows": ("/workflows/start?file=order.yaml", ".workflow-start"),
}


@pytest.fixture(scope="module")
def runs(site: Site) -> dict[str, str]:
    """A finished run and one that waits."""
    return {
        "run": site.ran("review.yaml", {"task": "a parser"}),
        "waiting": site.ran("asking.yaml"),
    }


@pytest.mark.parametrize("name", SCREENS)
def test_a_screen_fits_into_a_small_window(
    site: Site, page: Page, runs: dict[str, str], name: str
) -> None:
    path, mark = SCREENS[name]
    page.set_viewport_size({"width": 480, "height": 900})
    site.open(page, path.format(**runs))
    page.locator(mark).first.wait_for()
    beside = page.evaluate("() => document.documentElement.scrollWidth - innerWidth")
    picture(page, f"narrow-{name}")

    assert beside <= 0
