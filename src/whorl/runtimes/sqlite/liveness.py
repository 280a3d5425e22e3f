"""Who owns a run, and whether that process still lives.

On the same machine a process is known by its number and the time it started, so a killed owner is
noticed at once. A process that is stopped, or that cannot be seen from here, is given up when its
heartbeat is older than the lease; the monotonic clock is shared by all processes of one boot, so
a jump of the wall clock takes no run away from its owner.
"""

from __future__ import annotations

import os
import platform
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

LEASE_S: Final = 10.0
BEAT_EVERY_S: Final = 2.0
_BOOT_FILE: Final = Path("/proc/sys/kernel/random/boot_id")
_CLOCK_SLACK_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class Identity:
    """What tells a process from every other one."""

    pid: int
    started: str
    boot: str
    namespace: str


@dataclass(frozen=True, slots=True)
class Pulse:
    """Two readings of the time: the wall clock and the clock that only goes forward."""

    at: float
    monotonic: float


def this_process() -> Identity:
    """The identity of the process that asks."""
    pid = os.getpid()
    try:
        boot = _BOOT_FILE.read_text("ascii").strip()
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        boot, namespace = f"host:{platform.node()}", ""
    return Identity(pid, _start_time(pid) or "", boot, namespace)


def is_alive(owner: Identity, last: Pulse, here: Identity, now: Pulse) -> bool:
    """Whether an owner may still be at work; a run of one that is not may be claimed."""
    if owner.boot != here.boot:
        return abs(now.at - last.at) <= LEASE_S
    if is_gone(owner, here):
        return False
    return -_CLOCK_SLACK_S <= now.monotonic - last.monotonic <= LEASE_S


def is_gone(owner: Identity, here: Identity) -> bool:
    """Whether an owner is known to be dead; one that cannot be seen from here is not."""
    if (owner.boot, owner.namespace) != (here.boot, here.namespace):
        return False
    if owner.started:
        return _start_time(owner.pid) != owner.started
    if sys.platform == "win32":
        return False
    try:
        os.kill(owner.pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def _start_time(pid: int) -> str | None:
    """The start of a living process in ticks since boot; None for no process, or a dead one."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return None
    fields = stat[stat.rfind(")") + 2 :].split()
    return None if fields[0] in "ZX" else fields[19]
