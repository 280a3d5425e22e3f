"""Starts the command line on a clock that the test sets: `launcher.py CLOCK_FILE WORDS...`.

The file holds by how many seconds the time of day is wrong; no other clock is touched.
"""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path

_LOOK_S = 0.05
_now = time.time
_wrong = [0.0]


def _follow(path: Path) -> None:
    while True:
        _read(path)
        time.sleep(_LOOK_S)


def _read(path: Path) -> None:
    text = path.read_text()
    if text:
        _wrong[0] = float(text)


if __name__ == "__main__":
    clock = Path(sys.argv.pop(1))
    _read(clock)
    time.time = lambda: _now() + _wrong[0]
    threading.Thread(target=_follow, args=(clock,), daemon=True).start()

    # After the clock: what is imported takes it from there.
    from whorl.interfaces.cli import main

    main()
