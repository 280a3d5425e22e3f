"""Writes the pictures of the documents, each of something that really runs.

python tools/pictures.py              the live view and the first five minutes, as moving pictures
python tools/pictures.py --page       also the page, from its tests in a browser
python tools/pictures.py --examples   only the graphs of examples/native
"""

from __future__ import annotations

import asyncio
import atexit
import html
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))
PICTURES = ROOT / "docs" / "pictures"
EXAMPLES = ROOT / "examples" / "native"
# The pictures of the page that the documents show, and the tests that take them.
PAGE = {
    "run": "test_run_page.py::test_a_run_is_looked_at",
    "compare": "test_compare_page.py",
    "experiment-what-if": "test_experiments_page.py::test_rules_are_asked_for_without_a_call",
    "editor-native-split": "test_editor_native.py::test_a_loop_is_built_by_mouse",
}
WIDTH, HEIGHT, LINE, LETTER = 80, 32, 19, 8.4
COLOURS = {
    "red": "#e5534b", "green": "#57ab5a", "yellow": "#c69026", "blue": "#539bf5",
    "magenta": "#b083f0", "cyan": "#39c5cf", "white": "#cdd9e5", "default": "#cdd9e5",
}  # fmt: skip
HOLD_S = 4.0
# What the model of the first minutes answers, in turn.
REPLIES = (
    "Rain on the window,\nthe street hums a grey old song.\nI stay in and write.",
    '{"approved": false, "feedback": "Let the street shine.", "score": 0.6}',
    "Rain on the window,\nneon runs along the street.\nI stay in and write.",
    '{"approved": true, "feedback": "Keep it.", "score": 0.9}',
)
PRICES = """printf '[prices."gpt-5-mini"]\\ninput = 0.25\\noutput = 2.0\\n' >> whorl.toml"""


def record(argv: list[str], frames: list[tuple[float, list[list[Any]]]]) -> None:
    """Runs the command in this process, and keeps every frame that its live view draws."""
    from rich.console import Console

    from whorl.interfaces.cli import live_view as live
    from whorl.interfaces.cli import main
    from whorl.providers.asking import Ask

    drawn, answer = live.Live._redraw, Ask.perform
    paper = Console(width=WIDTH, height=24, file=open(os.devnull, "w"), force_terminal=True)  # noqa: SIM115

    def redraw(self: live.Live, *, is_last: bool = False) -> None:
        drawn(self, is_last=is_last)
        assert self._region is not None
        frames.append((time.monotonic(), paper.render_lines(self._region.renderable)))

    async def slowly(self: Ask, *given: Any, **more: Any) -> Any:
        await asyncio.sleep(0.7)
        return await answer(self, *given, **more)

    live.Live._redraw = redraw  # type: ignore[method-assign]
    Ask.perform = slowly  # type: ignore[method-assign]
    sys.argv = ["whorl", *argv]
    try:
        main()
    except SystemExit as ended:
        if ended.code:
            raise


def row(segments: list[Any], number: int) -> str:
    """A line of a terminal as text of a picture."""
    parts, column = [], 0
    for text, style, _ in segments:
        words = text.rstrip("\n")
        if words.strip():
            colour = style.color.name if style and style.color and style.color.name else "default"
            marks = f' fill="{COLOURS.get(colour.replace("bright_", ""), COLOURS["default"])}"'
            marks += ' font-weight="700"' if style and style.bold else ""
            marks += ' opacity="0.6"' if style and style.dim else ""
            place = f'x="{12 + column * LETTER:.1f}"{marks}'
            parts.append(f"<tspan {place}>{html.escape(words)}</tspan>")
        column += len(words)
    place = f'y="{24 + number * LINE}" xml:space="preserve"'
    return f"<text {place}>{''.join(parts)}</text>" if parts else ""


def animated(frames: list[tuple[float, list[list[Any]]]], title: str) -> str:
    """One picture of all frames, each shown as long as it stood, again and again."""
    kept: list[tuple[float, str]] = []
    for at, lines in frames:
        drawing = "".join(row(segments, number) for number, segments in enumerate(lines))
        if not kept or drawing != kept[-1][1]:
            kept.append((at, drawing))
    height = 24 + LINE * max(len(lines) for _, lines in frames)
    whole = kept[-1][0] - kept[0][0] + HOLD_S
    groups, rules = [], []
    for index, (at, drawing) in enumerate(kept):
        start = (at - kept[0][0]) / whole * 100
        is_last = index + 1 == len(kept)
        end = 100.0 if is_last else (kept[index + 1][0] - kept[0][0]) / whole * 100
        shown = f"{start:.2f}% {{ visibility: visible }}"
        gone = "" if is_last else f"{end:.2f}% {{ visibility: hidden }}"
        rules.append(f"@keyframes f{index} {{ 0% {{ visibility: hidden }} {shown} {gone} }}")
        timing = f"animation: f{index} {whole:.1f}s step-end infinite"
        groups.append(f'<g style="{timing}">{drawing}</g>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {24 + WIDTH * LETTER:.0f} {height}" '
        'font-family="ui-monospace, Menlo, Consolas, monospace" font-size="14">'
        f"<title>{html.escape(title)}</title>"
        f"<style>g {{ visibility: hidden }} {' '.join(rules)}</style>"
        f'<rect width="100%" height="100%" rx="8" fill="#1c2128"/>{"".join(groups)}</svg>\n'
    )


def live_view() -> None:
    """The live view of the example that `make demo` runs."""
    import pickle

    number, other = pty.openpty()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "frames"
        argv = [sys.executable, __file__, "--record", str(out)]
        size = os.environ | {"COLUMNS": str(WIDTH), "LINES": "24", "TERM": "xterm-256color"}
        streams = {"stdin": other, "stdout": other, "stderr": other}
        child = subprocess.Popen(argv, cwd=folder, env=size, **streams)
        os.close(other)
        said = b""
        with suppress(OSError):  # the terminal is gone when its last program is
            while part := os.read(number, 65536):
                said += part
        if child.wait():
            sys.exit(said.decode(errors="replace"))
        frames = pickle.loads(out.read_bytes())  # noqa: S301 - written by this program
    PICTURES.mkdir(exist_ok=True)
    title = "A loop in the terminal: each iteration with its score, until it is approved"
    (PICTURES / "live.svg").write_text(animated(frames, title))
    print(f"wrote {(PICTURES / 'live.svg').relative_to(ROOT)}: {len(frames)} frames")


def first_minutes() -> None:
    """The lines that the README begins with, as a person sees them at a terminal."""
    from rich.console import Console
    from rich.text import Text
    from tests.agents.model_server import model_server

    block = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(), re.S)[0]
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "docs" / "start.md").read_text(), re.S)
    # The install aside; then the minutes of the start page with a model and the browser.
    lines = [*block.splitlines()[1:], *blocks[3].splitlines(), *blocks[4].splitlines()]
    typed = [line.partition(" #")[0].rstrip() for line in lines]
    paper = Console(width=WIDTH, file=open(os.devnull, "w"), force_terminal=True)  # noqa: SIM115
    shown: list[str] = []
    frames: list[tuple[float, list[list[Any]]]] = []
    at = 0.0

    def draw(pause: float) -> None:
        nonlocal at
        text = Text("\n").join(map(Text.from_ansi, shown[-HEIGHT:]))
        frames.append((at, paper.render_lines(text, paper.options.update(width=WIDTH))))
        at += pause

    with tempfile.TemporaryDirectory() as folder, model_server(*REPLIES) as server:
        model = {"OPENAI_API_KEY": "sk-own", "OPENAI_BASE_URL": f"{server.url}/v1"}
        place, own = folder, {"HOME": folder}
        for line in typed:
            shown.append(f"\x1b[2m$\x1b[0m {line}")
            draw(1.2)
            real = line
            if line.startswith("export "):
                own = {"HOME": folder, **model}
                # The server has no prices of its own.
                printed(["bash", "-c", f"{PRICES} && whorl project trust -y"], place, own)
            elif line == "whorl serve":
                real = f"timeout -s INT 15 {line} || true"
            shown += printed(["bash", "-c", f"{real}; pwd > {folder}/place"], place, own)
            place = (Path(folder) / "place").read_text().strip()
            shown.append("")
            draw(4.0)
    title = "The first five minutes: a project, a run, why it stopped, what changed"
    (PICTURES / "start.svg").write_text(animated(frames, title))
    print(f"wrote {(PICTURES / 'start.svg').relative_to(ROOT)}: {len(frames)} frames")


def printed(argv: list[str], place: str, more: dict[str, str]) -> list[str]:
    """The lines that a command leaves at a terminal, with their colours."""
    number, other = pty.openpty()
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    own = {"COLUMNS": str(WIDTH), "LINES": "24", "TERM": "xterm-256color", "PATH": path}
    streams = {"stdin": other, "stdout": other, "stderr": other}
    child = subprocess.Popen(argv, cwd=place, env=own | more | {"LANG": "C.UTF-8"}, **streams)
    os.close(other)
    said = b""
    with suppress(OSError):  # the terminal is gone when its last program is
        while part := os.read(number, 65536):
            said += part
    if child.wait():
        sys.exit(said.decode(errors="replace"))
    lines, row = [""], 0
    for part in re.findall(r"\x1b\[[?\d;]*[A-Za-z]|[\r\n]|[^\x1b\r\n]+", said.decode()):
        if part == "\n":
            row += 1
            lines += [""] if row == len(lines) else []
        elif part.endswith("A") and part[0] == "\x1b":
            row = max(0, row - int(part[2:-1] or 1))
        elif part.endswith(("K", "J")) and part[0] == "\x1b":
            lines[row:] = [""] if part.endswith("J") else ["", *lines[row + 1 :]]
        elif part[0] != "\x1b" or part.endswith("m"):
            lines[row] += "" if part == "\r" else part
    return [line for line in lines if line.strip()]


def page() -> None:
    """Pictures that the tests of the page take."""
    with tempfile.TemporaryDirectory() as folder:
        tests = [str(ROOT / "tests" / "web" / name) for name in PAGE.values()]
        argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
        subprocess.run(argv, env=os.environ | {"WHORL_SCREENSHOTS": folder}, check=True, cwd=ROOT)
        for name in PAGE:
            shutil.copyfile(
                Path(folder) / f"{name}.png", PICTURES / f"{name.partition('-')[0]}.png"
            )


def examples(out: Path = EXAMPLES / "pictures") -> list[Path]:
    """The graph of each native example, drawn by the command."""
    from whorl.interfaces.cli import COMMANDS
    from whorl.interfaces.cli.group import build_group, run_safely

    out.mkdir(exist_ok=True)
    files = [file for file in sorted(EXAMPLES.glob("*.yaml")) if ".test." not in file.name]
    drawn = [out / f"{file.stem}.svg" for file in files]
    for file, picture in zip(files, drawn, strict=True):
        if run_safely(
            build_group(COMMANDS), ("file", "graph", str(file), "--svg", "-o", str(picture))
        ):
            sys.exit(f"{file} cannot be drawn")
    return drawn


def main_recorded(out: str) -> None:
    """Records in a process of its own, with a terminal of its own."""
    import pickle

    frames: list[tuple[float, list[list[Any]]]] = []
    config, file = ROOT / "examples" / "demo.toml", ROOT / "examples" / "polish.yaml"
    # The command ends its process by itself.
    atexit.register(lambda: Path(out).write_bytes(pickle.dumps(frames)))
    record(["--config", str(config), "run", str(file), "a haiku about rain"], frames)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--record"]:
        main_recorded(sys.argv[2])
    elif "--examples" in sys.argv:
        examples()
    else:
        live_view()
        first_minutes()
        if "--page" in sys.argv:
            page()
