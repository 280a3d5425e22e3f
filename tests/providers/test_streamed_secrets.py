"""A secret that comes in pieces is shown to nobody while it streams."""

from __future__ import annotations

import random
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from campaign import seeds
from waiting import PATIENCE_S
from whorl.interpreter.events import Event
from whorl.providers.redaction import HIDDEN, Secret, StreamedText
from whorl.runtimes.journal.journal import Entry, RunId
from whorl.services.runs import RedactedWatchers

if TYPE_CHECKING:
    from pathlib import Path

KEY = "sk-abcab-abcabc-9"
RUN = RunId("r1")


@pytest.mark.campaign
@pytest.mark.parametrize("seed", seeds(20, 2_000))
def test_no_piece_of_a_secret_is_shown(seed: int) -> None:
    chance = random.Random(seed)
    text = "".join(chance.choice(("a", "sk-", "sk-ab", KEY, " and ", "abc")) for _ in range(12))
    stream = StreamedText([Secret(KEY), Secret("too"), Secret("another/secret")])

    shown, rest = "", text
    while rest:
        size = chance.randint(1, 9)
        shown += stream.take(rest[:size])
        rest = rest[size:]
    whole = text.replace(KEY, HIDDEN)

    assert KEY not in shown
    assert whole.startswith(shown)
    assert len(whole) - len(shown) < len(KEY)


class Seen:
    def __init__(self) -> None:
        self.texts: list[tuple[str, str]] = []

    def entries(self, run: RunId, entries: list[Entry]) -> None:
        pass

    def text(self, run: RunId, address: str, text: str) -> None:
        self.texts.append((address, text))

    def trouble(self, run: RunId, fault: object) -> None:
        pass


def test_each_task_has_a_stream_of_its_own() -> None:
    seen = Seen()
    watcher = RedactedWatchers([seen], [Secret(KEY)])
    watcher.text(RUN, "a", f"it is {KEY[:5]}")
    watcher.text(RUN, "b", KEY[5:])
    watcher.text(RUN, "a", f"{KEY[5:]}.")
    watcher.entries(RUN, [Entry(1, Event("task.finished", "a", 1.0, {}))])
    watcher.text(RUN, "a", "again")

    assert seen.texts == [("a", "it is "), ("b", KEY[5:]), ("a", f"{HIDDEN}."), ("a", "again")]


def test_events_on_the_command_line_show_no_secret(tmp_path: Path) -> None:
    (tmp_path / "whorl.toml").write_text(
        '[allow]\ncommands = true\n[providers.x]\nkind = "openai"\n'
        f'base_url = "https://example.com"\napi_key = "{KEY}"\n'
    )
    script = f"printf 'it is {KEY[:6]}'; sleep 0.3; printf '{KEY[6:]}, no more'; sleep 0.3"
    (tmp_path / "say.yaml").write_text(f'whorl: 1\nsteps:\n  say: {{run: "{script}"}}\n')

    done = subprocess.run(
        [sys.executable, "-m", "whorl.interfaces.cli", "run", "say.yaml", "--events"],
        cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert '"task.text"' in done.stdout
    assert f"{HIDDEN}, no more" in done.stdout
    # The file says it too, in two parts; whole it is nowhere.
    assert KEY not in done.stdout
    assert KEY not in done.stderr
