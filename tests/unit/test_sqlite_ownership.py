"""Whether an owner is alive, as far as it can be told from here."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from whorl.runtimes.sqlite.ownership import ClockPair, Identity, is_alive, is_gone, this_process

HERE = this_process()
NOW = ClockPair(at=1_000_000.0, monotonic=500.0)
NOBODY = 2**22 + 1  # above the largest process number that Linux gives


def before(seconds: float) -> ClockPair:
    return ClockPair(NOW.at - seconds, NOW.monotonic - seconds)


def test_this_process_is_alive_while_its_heart_beats() -> None:
    assert HERE.pid == os.getpid()
    assert is_alive(HERE, before(9.9), HERE, NOW)
    assert not is_alive(HERE, before(10.1), HERE, NOW)


@pytest.mark.parametrize(
    "owner",
    [replace(HERE, pid=NOBODY), replace(HERE, started="1"), replace(HERE, pid=NOBODY, started="")],
)
def test_a_process_that_is_gone_is_dead_at_once(owner: Identity) -> None:
    assert is_gone(owner, HERE)
    assert not is_alive(owner, NOW, HERE, NOW)


def test_a_process_of_another_container_lives_by_its_heartbeat() -> None:
    hidden = replace(HERE, pid=NOBODY, namespace="pid:[1]")

    assert not is_gone(hidden, HERE)
    assert is_alive(hidden, before(9), HERE, NOW)
    assert not is_alive(hidden, before(11), HERE, NOW)


def test_on_the_same_machine_the_wall_clock_does_not_matter() -> None:
    assert is_alive(HERE, ClockPair(NOW.at - 86_400, NOW.monotonic - 1), HERE, NOW)
    assert is_alive(HERE, ClockPair(NOW.at + 86_400, NOW.monotonic - 1), HERE, NOW)
    assert not is_alive(HERE, ClockPair(NOW.at, NOW.monotonic - 60), HERE, NOW)
    assert not is_alive(HERE, ClockPair(NOW.at, NOW.monotonic + 60), HERE, NOW)


def test_an_owner_from_before_a_reboot_lives_by_the_wall_clock() -> None:
    earlier = replace(HERE, boot="another")

    assert is_alive(earlier, ClockPair(NOW.at - 9, 90_000.0), HERE, NOW)
    assert not is_alive(earlier, ClockPair(NOW.at - 11, NOW.monotonic), HERE, NOW)
    assert not is_alive(earlier, ClockPair(NOW.at + 3600, NOW.monotonic), HERE, NOW)
