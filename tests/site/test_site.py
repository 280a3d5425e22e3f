"""The site: all links lead somewhere, it needs nobody else, it is found, read and light."""

from __future__ import annotations

import functools
import http.server
import re
import subprocess
import sys
import threading
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pytest

from waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
sys.path.insert(0, str(ROOT / "tests" / "web"))
PAGES = sorted(
    page.relative_to(DOCS).with_suffix("")
    for page in DOCS.rglob("*.md")
    if page.parent.parent != DOCS / "internals" and page.parent != DOCS / "internals"
)
# All pages of error codes are made alike; these stand for them where each page takes a second.
READ = [page for page in PAGES if page.parent.name != "errors" or page.name in ("P104", "W004")]
# What a reader loads for the first page, and for any other one.
FIRST_MAX_BYTES = 400_000
PAGE_MAX_BYTES = 1_500_000
# The rules of axe whose findings depend on how wide the screen is.
NARROW = ("scrollable-region-focusable", "target-size", "meta-viewport")

pytestmark = pytest.mark.slow


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files, and does not talk."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its own name
        """Nothing."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make site` does."""
    pytest.importorskip("sphinx", reason="Sphinx is not installed")
    out = tmp_path_factory.mktemp("site")
    strict = ("--nitpicky", "--fail-on-warning", "--keep-going")
    argv = [sys.executable, "-m", "sphinx", "--quiet", *strict, "-d", str(out / "trees")]
    done = subprocess.run(
        [*argv, str(DOCS), str(out / "html")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return out / "html"


@pytest.fixture(scope="module")
def address(built: Path) -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=str(built))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def page(address: str) -> Iterator[Page]:
    from browsed import CHROMIUM, FLAGS

    if not Path(CHROMIUM).exists():
        pytest.skip(f"there is no {CHROMIUM}: the page is tested with Debian's chromium")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.set_default_timeout(PATIENCE_S * 1000)
        yield page
        browser.close()


def test_every_page_is_there_and_as_markdown(built: Path) -> None:
    listed = (built / "llms.txt").read_text()

    for name in PAGES:
        assert (built / name).with_suffix(".html").exists()
        assert (built / name).with_suffix(".md").read_text().startswith("# ")
        assert f"]({name}.md)" in listed


def test_nothing_is_loaded_from_elsewhere(built: Path) -> None:
    loads = re.compile(
        r"""<(?:script|img|iframe|source)\b[^>]*\bsrc=["'](?:https?:)?//|"""
        r"""<link\b[^>]*\bhref=["'](?:https?:)?//|"""
        r"""url\(["']?(?:https?:)?//|@import ["'](?:https?:)?//"""
    )
    for file in built.rglob("*"):
        if file.suffix in (".html", ".css"):
            assert loads.search(file.read_text()) is None, file


def test_pages_are_light(built: Path) -> None:
    first = (built / "index.html").read_text()
    own = re.findall(r"""(?:src|href)=["'](_static/[^"'?]+)""", first)
    size = len(first) + sum((built / name).stat().st_size for name in set(own))

    assert size <= FIRST_MAX_BYTES
    for file in built.rglob("*.html"):
        assert file.stat().st_size <= PAGE_MAX_BYTES, file


def test_pictures_are_light(built: Path) -> None:
    pictures = [file for file in (built / "_images").iterdir() if file.is_file()]

    assert pictures
    assert {file.name: size for file in pictures if (size := file.stat().st_size) > 400_000} == {}


def test_each_page_says_what_it_is(built: Path) -> None:
    """What a tab, a search engine and a small screen need."""
    titles: dict[str, Path] = {}
    for name in PAGES:
        text = (built / name).with_suffix(".html").read_text().partition("</head>")[0]
        [title] = re.findall(r"<title>(.*?)</title>", text, re.S)
        [described] = re.findall(r'<meta name="description" content="(.*?)">', text, re.S)
        assert '<html class="no-js" lang="en"' in text, name
        assert 'name="viewport"' in text, name
        assert titles.setdefault(title, name) == name
        assert 20 <= len(described) <= 260, (name, described)


def test_every_link_leads_somewhere(built: Path) -> None:
    """Links between pages with their anchors, also those that Sphinx does not check."""
    texts = {file: file.read_text() for file in built.rglob("*.html")}
    anchors = {file: set(re.findall(r'\bid="([^"]+)"', text)) for file, text in texts.items()}
    links = [
        (file, unescape(link))
        for file, text in texts.items()
        for link in re.findall(r'<a\b[^>]*\bhref="([^"]+)"', text)
    ]
    lost = []
    for file, link in links:
        path, _, anchor = link.partition("#")
        if re.match(r"[a-z]+:", link):
            continue
        target = (file.parent / unquote(path)).resolve() if path else file
        known = anchors.get(target, set())
        if not target.exists() or (anchor and unquote(anchor) not in known):
            lost.append(f"{file.relative_to(built)}: {link}")

    assert len(links) > 1000
    assert lost == []


def test_old_addresses_lead_to_the_new_pages(built: Path) -> None:
    old = subprocess.run(
        [sys.executable, "-c", "import conf; print(*conf.MOVED)"],
        cwd=DOCS, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip

    assert len(old) == 23
    for name in old:
        page = built / f"{name}.html"
        [target] = re.findall(r'content="0; url=([^"]+)"', page.read_text())
        assert (page.parent / target).resolve().exists(), name


def test_every_picture_is_there_and_has_words(built: Path) -> None:
    pictures = [
        (file, picture)
        for file in built.rglob("*.html")
        for picture in re.findall(r"<img\b[^>]*>", file.read_text())
    ]

    assert pictures
    for file, picture in pictures:
        [source] = re.findall(r'src="([^"]+)"', picture)
        [words] = re.findall(r'alt="([^"]*)"', picture)
        assert (file.parent / source).exists(), picture
        assert len(words) > 10, picture


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("plateau", "concepts/loops"),
        ("webhook", "guides/triggers"),
        ("keeps_max_tokens", "reference/settings"),
        ("unknown field", "reference/errors/W004"),
    ],
)
def test_a_reader_finds_a_page_by_its_words(
    address: str, page: Page, words: str, found: str
) -> None:
    page.goto(f"{address}/search.html?q={words}")

    page.locator(f"#search-results li a[href*='{found}.html']").first.click()
    page.wait_for_url(re.compile(f".*/{found}.html.*"))


def test_every_page_can_be_read_by_everybody(address: str, page: Page) -> None:
    """All rules of axe, the contrast of both colour schemes, and what a small screen changes."""
    from browsed import AXE, findings

    if not AXE.exists():
        pytest.skip("there is no axe-core: `npm ci` in web/ installs it")
    found = []
    for name in (*map(str, READ), "search", "genindex"):
        page.set_viewport_size({"width": 1440, "height": 900})
        page.emulate_media(color_scheme="light")
        page.goto(f"{address}/{name}.html")
        # What the theme puts around a page is the same everywhere, and looked at on two pages.
        is_framed = name in ("index", "start")
        if not is_framed:
            page.evaluate("document.querySelector('.sidebar-drawer').remove()")
        faults = findings(page)
        page.emulate_media(color_scheme="dark")
        faults += findings(page, "color-contrast")
        page.set_viewport_size({"width": 390, "height": 900})
        faults += findings(page, *(() if is_framed else NARROW))
        page.emulate_media(color_scheme="light")
        faults += findings(page, "color-contrast") if is_framed else []
        found += [f"{name}: {fault}" for fault in faults]

    assert found == []
