"""How Sphinx makes the site of these pages: `make site`."""

from __future__ import annotations

import os
import posixpath
import re
import shutil
from html import escape, unescape
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from docutils import nodes
from pygments.lexers.python import PythonLexer
from pygments.lexers.special import TextLexer

import whorl

if TYPE_CHECKING:
    from sphinx.application import Sphinx

DOCS = Path(__file__).parent
# About as much as search engines show.
DESCRIPTION_MAX = 160
# Where files that are no pages can be read; without it they are named and not linked.
REPOSITORY = os.environ.get("WHORL_REPOSITORY", "")

project = "Whorl"
author = "The Whorl authors"
release = version = whorl.__version__
extensions = ["myst_parser", "sphinx_copybutton"]
myst_heading_anchors = 4
# Decisions are for people who change Whorl; they read them in the repository.
exclude_patterns = ["internals/**"]
html_theme = "furo"
html_title = "Whorl"
html_show_sphinx = False
html_copy_source = False
html_show_copyright = False

# What the theme leaves out, and readers of a screen, or without a mouse, need: names for its two
# sides, a heading of the search, the level of its captions, and that Tab reaches what scrolls.
_ACCESSIBLE = {
    '<aside class="sidebar-drawer"': '<aside aria-label="All pages" class="sidebar-drawer"',
    '<aside class="toc-drawer': '<aside aria-label="On this page" class="toc-drawer',
    '<p class="caption" role="heading">': '<p class="caption" role="heading" aria-level="2">',
    '<div id="search-results"></div>': '<h1>Search</h1><div data-found id="search-results"></div>',
    "<pre>": '<pre tabindex="0">',
    '<div class="table-wrapper': '<div tabindex="0" class="table-wrapper',
}
# Pages that have moved, each with its new place. Remove these in 0.4.
MOVED = {
    "guides/coming-from-a-while-loop": "tutorial/first-loop",
    "guides/coming-from-langgraph": "formats/langgraph",
    "guides/coming-from-logic-apps": "formats/logic-apps",
    "guides/coming-from-mcp-cli": "formats/mcp-cli",
    "guides/coming-from-n8n": "formats/n8n",
    "guides/coming-from-orka": "formats/orka",
    "guides/coming-from-shodan": "formats/shodan",
    "guides/coming-from-studio": "formats/studio",
    "guides/coming-from-temporal": "formats/temporal",
    "guides/continuous-integration": "guides/testing",
    "guides/editing": "guides/editor",
    "guides/replay": "guides/testing",
    "guides/schedules": "guides/triggers",
    "guides/telemetry": "guides/operating",
    "guides/templates": "guides/recipes",
    "guides/until-the-tests-pass": "guides/recipes",
    "guides/web": "guides/watching",
    "guides/webhooks": "guides/triggers",
    "reference/dialects": "formats/index",
    "reference/loom": "formats/loom",
    "reference/mcp-cli": "formats/mcp-cli",
    "reference/orka": "formats/orka",
    "reference/shodan": "formats/shodan",
}
_OUTSIDE = re.compile(r"\[([^\]]+)\]\(((?:\.\./)+[^)\s#]*)\)")


def setup(app: Sphinx) -> None:
    """Whatever is special about these pages."""
    # Programs of other systems are Python, too; the word before them says who runs them in tests.
    for peer in ("langgraph", "temporal"):
        app.add_lexer(peer, PythonLexer)
    app.add_lexer("csv", TextLexer)
    app.connect("source-read", _lead_outside)
    app.connect("html-page-context", _describe)
    app.connect("build-finished", _make_accessible)
    app.connect("build-finished", _redirect)
    app.connect("build-finished", _write_for_models)


def _lead_outside(app: Sphinx, page: str, source: list[str]) -> None:
    """Links to files that are no pages of the site lead to the repository."""

    def link(found: re.Match[str]) -> str:
        words, target = found.groups()
        path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), target))
        if path.startswith("docs/") and not path.startswith("docs/internals/"):
            return found[0]
        return f"[{words}]({REPOSITORY}/blob/main/{path})" if REPOSITORY else words

    source[0] = _OUTSIDE.sub(link, source[0])


def _describe(
    app: Sphinx, page: str, template: str, context: dict[str, Any], tree: nodes.document | None
) -> None:
    """What a search engine shows below the title: title and beginning of the first paragraph."""
    if tree is None:
        return
    texts = (
        part for part in tree.findall(nodes.paragraph) if isinstance(part.parent, nodes.section)
    )
    first = next((part.astext() for part in texts), "")
    title = unescape(re.sub(r"<[^>]*>", "", context.get("title", "")))
    words = f"Whorl: {title}. {first}".strip()
    words = shorten(words, DESCRIPTION_MAX, placeholder=" ...")
    tag = f'<meta name="description" content="{escape(words)}">'
    context["metatags"] = context.get("metatags", "") + tag


def _make_accessible(app: Sphinx, fault: Exception | None) -> None:
    """Adds to each page what the theme has no setting for; twice is the same as once."""
    for page in Path(app.outdir).rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        for written, wanted in _ACCESSIBLE.items():
            text = text.replace(written, wanted)
        page.write_text(text, encoding="utf-8")


def _redirect(app: Sphinx, fault: Exception | None) -> None:
    """Writes a page at each old place that leads to the new one."""
    for old, new in MOVED.items() if app.builder.format == "html" else ():
        target = posixpath.relpath(f"{new}.html", posixpath.dirname(old))
        words = f'<p>This page has moved: <a href="{target}">{new}</a>.</p>'
        head = f'<meta http-equiv="refresh" content="0; url={target}"><title>Moved: {old}</title>'
        page = Path(app.outdir) / f"{old}.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(f'<!doctype html><html lang="en"><head>{head}</head>{words}</html>\n')


def _write_for_models(app: Sphinx, fault: Exception | None) -> None:
    """`llms.txt`, and the Markdown of each page beside it."""
    if fault is not None or app.builder.format != "html":
        return
    lines = ["# Whorl", "", "> A workflow engine that runs AI loops until the result is right.", ""]
    for page in sorted(app.env.found_docs):
        text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
        copy = Path(app.outdir) / f"{page}.md"
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(DOCS / f"{page}.md", copy)
        title = re.search(r"^# (.*)$", text, re.M)
        lines.append(f"- [{title[1] if title else page}]({page}.md)")
    (Path(app.outdir) / "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
