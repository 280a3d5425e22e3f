"""Values as people read them, and the address of a page as what is looked at."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browsed import picture

if TYPE_CHECKING:
    from collections.abc import Callable

    from browsed import Site
    from playwright.sync_api import Page

LETTER = """# A plan

- **first** <script>alert(1)</script> step
- a [link](javascript:alert(1)) and ![a picture](http://elsewhere.example/x.png)

| a | b |
|---|---|
| 1 | 2 |
"""

WORKFLOW = """
whorl: 1
name: reading
inputs: {text: string, data: json}
steps:
  letter: {value: "{{ text }}"}
  tree: {value: "{{ data }}"}
outputs: {letter: "{{ letter }}"}
"""
DATA = {"deep": {"list": [{"a": {"b": {"c": "found"}}}]}, **{f"k{n}": n for n in range(20)}}


@pytest.fixture(scope="module")
def read(site: Site) -> str:
    (site.project / "reading.yaml").write_text(WORKFLOW)
    return site.ran("reading.yaml", {"text": LETTER, "data": DATA})


def test_values_are_shown_as_what_they_are(
    site: Site, page: Page, read: str, check_access: Callable[[Page], None]
) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    site.open(page, f"/runs/{read}?node=letter")

    output = page.locator(".drawer").get_by_role("region", name="Output", exact=True)
    shown = output.locator(".markdown")
    shown.locator("strong", has_text="first").wait_for()
    assert shown.locator("td").all_inner_texts() == ["1", "2"]
    assert "<script>alert(1)</script>" in shown.inner_text()
    assert "[image: a picture, http://elsewhere.example/x.png]" in shown.inner_text()
    assert page.locator(".drawer img, .drawer script").count() == 0
    assert "javascript" not in (shown.get_by_text("link", exact=True).get_attribute("href") or "")
    assert [url for url in asked if not url.startswith(site.address)] == []
    picture(page, "reading-markdown")
    check_access(page)
    output.get_by_role("button", name="Source").click()
    assert output.locator("pre.value").inner_text() == LETTER
    output.get_by_role("button", name="Rendered").click()

    # Values are copied, downloaded and expanded.
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    output.get_by_role("button", name="Copy").click()
    output.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("() => navigator.clipboard.readText()") == LETTER
    with page.expect_download() as download:
        output.get_by_role("button", name="Download").click()
    assert Path(download.value.path()).read_text() == LETTER
    output.get_by_role("button", name="Expand").click()
    large = page.get_by_role("dialog", name="the whole value")
    large.locator("strong", has_text="first").wait_for()
    page.keyboard.press("Escape")
    large.wait_for(state="detached")
    assert page.locator(".drawer").is_visible()

    site.open(page, f"/runs/{read}?node=tree")
    tree = page.locator(".drawer").get_by_role("region", name="Output", exact=True)
    tree.get_by_text("k19").wait_for()
    assert not tree.get_by_text("found").is_visible()
    for name in ("list", "0", "a", "b"):
        tree.locator("summary", has_text=f"{name}: ").last.click()
    tree.get_by_text("found").wait_for()
    picture(page, "reading-tree")


def test_the_address_is_what_is_looked_at(site: Site, page: Page) -> None:
    run = site.example("review.yaml", {"task": "a parser"})
    site.open(page)
    site.open(page, f"/runs/{run}")
    page.locator('[data-path="refine/code"]').click()
    page.locator(".drawer").wait_for()
    page.get_by_role("tab", name="Timeline").click()
    assert "tab=timeline" in page.url

    page.go_back()
    page.get_by_role("tab", name="Graph", selected=True).wait_for()
    page.locator(".drawer").wait_for()
    page.go_back()
    page.locator(".drawer").wait_for(state="detached")
    assert f"/runs/{run}" in page.url
    page.go_forward()
    page.locator(".drawer").wait_for()

    # A link to another place of the open run is followed.
    site.open(page, f"/runs/{run}?node=plan")
    page.get_by_role("dialog", name="step plan").wait_for()

    site.open(page, f"/runs/{run}?loop=refine&iteration=2&node=refine/code")
    page.get_by_text("refine[2]/code", exact=True).wait_for()
    assert page.get_by_label("iteration number").input_value() == "2"
    site.open(page, f"/runs/{run}?loop=refine&iteration=3&view=unrolled")
    page.locator('[data-path="refine[3]/code"]').wait_for()
    assert page.get_by_label("iteration number").input_value() == "3"
    page.reload()
    page.locator('[data-path="refine[3]/code"]').wait_for()
    assert page.get_by_label("iteration number").input_value() == "3"
