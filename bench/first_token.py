"""How long a token takes from the step that streams it to whoever reads the run's stream."""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import whorl

_TOKENS = 100
_OTHER = """
import asyncio, time, whorl

async def main():
    async with whorl.Session(store="store") as session:
        run = session.run("last")
        async for token in run.stream(whorl.Token):
            print(time.monotonic() - float(token.text.split()[-1]), flush=True)

asyncio.run(main())
"""


@whorl.step
async def speak(seen: str) -> int:
    """Streams the time, again and again, until the other process has heard enough of it."""
    call = whorl.current_call()
    for _ in range(_TOKENS * 20):
        call.emit(f"{time.monotonic()} ")
        await asyncio.sleep(0.02)
        if Path(seen).exists():
            break
    return 1


@whorl.workflow
async def speaking(seen: str) -> int:
    """One step that streams."""
    return await speak(seen)


def measure(full: bool) -> None:
    """Prints the delays of tokens in this process and in another one."""
    print("From a token's arrival to the subscriber, milliseconds (goal: 20)")
    with tempfile.TemporaryDirectory() as folder:
        own, other = asyncio.run(_measured(Path(folder)))
    for name, delays in (("in the same process", own), ("in another process", other)):
        worst = statistics.quantiles(delays, n=20)[-1]
        first, middle = delays[0], statistics.median(delays)
        words = f"first {first:6.2f}, median {middle:6.2f}, 95 of 100 within {worst:6.2f}"
        print(f"  {name:<22} {words}")


async def _measured(folder: Path) -> tuple[list[float], list[float]]:
    """The delay of the newest word of each piece of text, here and there."""
    seen, own = folder / "seen", []
    async with whorl.Session(store=folder / "store") as session:
        run = await session.start(speaking, {"seen": str(seen)})
        words = [sys.executable, "-c", _OTHER]
        pipe = subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*words, cwd=folder, stdout=pipe)
        listening = asyncio.create_task(_delays(process, seen))
        async for token in run.stream(whorl.Token):
            own.append(1000 * (time.monotonic() - float(token.text.split()[-1])))
        return own, await listening


async def _delays(process: asyncio.subprocess.Process, seen: Path) -> list[float]:
    """What another process prints; the step ends when that is enough."""
    assert process.stdout is not None
    delays: list[float] = []
    async for line in process.stdout:
        delays.append(1000 * float(line))
        if len(delays) >= _TOKENS:
            seen.touch()
    await process.wait()
    return delays
