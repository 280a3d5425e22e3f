"""What commands print, and where: only the result, events, exit codes for programs, files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from command_line import Whorl


def test_quiet_prints_the_result_alone(whorl: Whorl) -> None:
    done = whorl("run polish.yaml x -q").ends(0)
    assert (done.out, done.err) == ("text:\nthe report\n\ndraft:\ndraft three\n", "")
    failed = whorl("run failing.yaml --quiet").ends(1, "✗ failed", "error[", "next: ")
    assert failed.out == ""
    assert "at most" not in failed.err
    waiting = whorl("run gated.yaml -q").ends(4, "waiting", "Publish it?")
    assert waiting.out == ""
    whorl("run gone.yaml -q").ends(2, "error[")
    whorl("run polish.yaml x -q -v").ends(2, "--quiet and --verbose exclude each other")
    # The next command speaks again.
    whorl("run polish.yaml x").ends(0, "next: ")


def test_strict_makes_a_limit_a_failure(whorl: Whorl) -> None:
    whorl("run polish.yaml x --strict").ends(0)
    short = "run polish.yaml x --max-iterations 1"
    whorl(short).ends(0, "! limit")
    whorl(f"{short} --strict").ends(1, "! limit")
    whorl(f"{short} --strict --json").ends(1)
    whorl("continue last -n 1 --strict").ends(1, "! limit")
    whorl("continue last -n 3 --strict -q").ends(0)


def test_events_take_no_next_word_for_their_form(whorl: Whorl) -> None:
    done = whorl("run polish.yaml --events x").ends(0)
    assert json.loads(done.out.splitlines()[0])["kind"] == "run.started"
    assert whorl("run polish.yaml x --events-as journal").ends(0).out.startswith("{")
    whorl("run polish.yaml x --events-as dialect").ends(2, "no event names of its own")
