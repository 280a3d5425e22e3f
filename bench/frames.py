"""How evenly a node follows the mouse in the editor of the page: `python -m bench frames`.

A real browser drags one node of a large file, and its own clock tells how long each frame takes.
On a busy machine the frames wait for others: what the page computes for each of them tells more.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.editor import DIALECTS, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

CHROMIUM = "/usr/bin/chromium"
GOAL_MS = 20
COUNTS = (300, 1_000)
_FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run"]
# The longest stretch of a drag, in steps of the mouse.
_MOVES = 120
_OPEN_MS = 120_000
_WATCH = """() => {
    window.frames_ms = []
    let before = performance.now()
    const note = now => {
        window.frames_ms.push(now - before)
        before = now
        window.noting = requestAnimationFrame(note)
    }
    window.noting = requestAnimationFrame(note)
}"""
_NODE = ".edit-canvas .react-flow__node .piece-head"


def measure(full: bool) -> None:
    """Prints the frames of a drag, in milliseconds."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        sys.exit("playwright is not installed: make .venv/.developed")
    if not os.path.exists(CHROMIUM):
        sys.exit(f"there is no {CHROMIUM}: make browser")
    print(f"A drag in the editor, milliseconds (goal: 95 % of frames under {GOAL_MS} at 300 nodes)")
    titles = ("open", "frames", "median", "95 %", "under 20", "CPU/frame")
    print(f"  {'':<18}" + "".join(f"{title:>10}" for title in titles))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        for dialect, ending in DIALECTS.items():
            for count in COUNTS:
                (Path(folder) / f"{dialect}-{count}.{ending}").write_text(text_of(dialect, count))
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=_FLAGS)
        with _served(folder) as link:
            for dialect, ending in DIALECTS.items():
                for count in COUNTS:
                    file = f"{dialect}-{count}.{ending}"
                    _row(f"{dialect} {count:,}", *_dragged(browser, link, file))
        browser.close()


@contextmanager
def _served(folder: str) -> Iterator[str]:
    command = [
        sys.executable,
        "-m",
        "whorl.interfaces.cli",
        "serve",
        "--edit",
        "--no-open",
        "--port",
        "0",
    ]
    server = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
    finally:
        server.terminate()
        server.wait()


def _dragged(browser: Any, link: str, file: str) -> tuple[float, list[float], float]:
    """The milliseconds until a file is drawn, of each frame of a drag, and of CPU for all."""
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(link)
    page.wait_for_selector("nav")
    page.evaluate(f"location.hash = '/edit/{file}'")
    begun = page.evaluate("performance.now()")
    page.wait_for_selector(_NODE, timeout=_OPEN_MS)
    opened = page.evaluate("performance.now()") - begun
    boxes = page.eval_on_selector_all(
        _NODE,
        "all => all.map(one => one.getBoundingClientRect()).map(box => [box.x + box.width / 2,"
        " box.y + box.height / 2]).filter(([x, y]) => x > 350 && x < 900 && y > 200 && y < 700)",
    )
    x, y = boxes[len(boxes) // 2]
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 5, y + 5, steps=3)
    devtools = page.context.new_cdp_session(page)
    devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
    before = _computed(devtools)
    page.evaluate(_WATCH)
    for number in range(_MOVES):
        page.mouse.move(x + 5 + number % 60 * 3, y + 5 + number % 40 * 2)
    page.evaluate("cancelAnimationFrame(window.noting)")
    computed = _computed(devtools) - before
    frames = page.evaluate("window.frames_ms")[1:]
    page.keyboard.press("Escape")
    page.mouse.up()
    page.close()
    return opened, frames, computed


def _computed(devtools: Any) -> float:
    """What the page has computed so far, in milliseconds of CPU."""
    metrics = devtools.send("Performance.getMetrics")["metrics"]
    return 1_000 * sum(each["value"] for each in metrics if each["name"] == "TaskDuration")


def _row(name: str, opened: float, frames: list[float], computed: float) -> None:
    ordered = sorted(frames)
    median, late = ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.95)]
    share = 100 * sum(one < GOAL_MS for one in frames) / len(frames)
    numbers = f"{opened:>10,.0f}{len(frames):>10}{median:>10.1f}{late:>10.1f}"
    print(f"  {name:<18}{numbers}{share:>8.0f} %{computed / len(frames):>10.1f}", flush=True)
