"""The page that is shipped: built from what is in web/, small, and with nothing from elsewhere."""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from browsed import ROOT, WEB

if TYPE_CHECKING:
    from pathlib import Path

BUNDLE = ROOT / "src" / "whorl" / "interfaces" / "web"
FIRST_LOAD_MAX = 200_000
REMOTE = re.compile(
    r"""(?:src|href)\s*=\s*["']?(?:https?:)?//|url\(\s*["']?(?:https?:)?//|@import\s+["'](?:https?:)?//"""
)


def test_nothing_is_loaded_from_elsewhere() -> None:
    texts = [BUNDLE / "index.html", *sorted(BUNDLE.glob("assets/*.css"))]

    assert [path.name for path in texts if REMOTE.search(path.read_text())] == []


def test_the_page_has_no_inline_scripts_or_styles() -> None:
    page = (BUNDLE / "index.html").read_text()

    assert re.findall(r"<script(?![^>]*\bsrc=)[^>]*>|<style|\sstyle=|\son\w+=", page) == []


def test_what_is_loaded_first_is_small() -> None:
    page = (BUNDLE / "index.html").read_text()
    names = re.findall(r'(?:src|href)="\./(assets/[^"]+\.js)"', page)
    sizes = [len(gzip.compress((BUNDLE / name).read_bytes(), 9, mtime=0)) for name in names]

    assert names
    assert sum(sizes) <= FIRST_LOAD_MAX


def test_every_file_can_be_served() -> None:
    odd = [
        path.name
        for path in (BUNDLE / "assets").iterdir()
        if not re.fullmatch(r"[A-Za-z0-9._-]+\.(css|js|json|svg|png|ico|woff2|txt)", path.name)
    ]

    assert odd == []


@pytest.fixture(scope="module")
def npm() -> str:
    """npm, with the packages of the page installed."""
    found = shutil.which("npm")
    if found is None:
        pytest.skip("there is no npm: the page is built with Node 20 or newer")
    if not (WEB / "node_modules" / ".package-lock.json").exists():
        done = run(found, "ci", "--no-fund", "--no-audit")
        if done.returncode:
            pytest.skip(f"the packages of the page cannot be installed: {done.stderr[-300:]}")
    return found


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """A command in web/, to its end."""
    return subprocess.run(
        words,
        cwd=WEB,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=1_800,
        check=False,
    )


@pytest.mark.slow
def test_types_and_tests_of_the_page_pass(npm: str) -> None:
    done = run(npm, "run", "check")

    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]


@pytest.mark.slow
def test_types_are_those_of_the_server(npm: str) -> None:
    done = run(npm, "run", "types", "--", "--check")

    assert done.returncode == 0, done.stderr[-1000:]


@pytest.mark.slow
def test_the_committed_page_is_the_one_that_is_built(npm: str, tmp_path: Path) -> None:
    done = run(npm, "exec", "--", "vite", "build", "--outDir", str(tmp_path / "built"))

    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert contents(tmp_path / "built") == contents(BUNDLE), "`make page` builds it anew"


def contents(folder: Path) -> dict[str, bytes]:
    """The files of a folder by their names."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
