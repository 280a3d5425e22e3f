"""Every literate case on every runtime: what workflows mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from conformance.expecting import mistakes
from conformance.literate import load_cases
from conformance.local import run_local
from conformance.reading import diagnostics_of
from conformance.recording import ends
from conformance.replies import Script
from conformance.running import run_simulated

if TYPE_CHECKING:
    from pathlib import Path

    from conformance.literate import Case

CASES = load_cases()
RUN = [case for case in CASES if "outcome" in case.blocks]
REFUSED = [case for case in CASES if "diagnostics" in case.blocks]


def _marked(cases: list[Case]) -> list[object]:
    return [
        pytest.param(
            case,
            id=case.id,
            marks=[pytest.mark.xfail(reason=case.options["not_yet"], strict=True)]
            if "not_yet" in case.options
            else [],
        )
        for case in cases
    ]


@pytest.mark.parametrize("case", _marked(RUN))
def test_case_runs_as_it_says_on_every_runtime(case: Case, tmp_path: Path) -> None:
    script = Script(case.blocks.get("replies"))
    simulated = run_simulated(case, script)
    assert mistakes(case.blocks["outcome"], simulated, script) == [], case.file

    local, status = run_local(case, script, tmp_path / "runs.db")

    assert mistakes(case.blocks["outcome"], local, script) == [], case.file
    assert _timeless(simulated.document) == _timeless(local.document)
    assert ends(simulated.records or []) == ends(local.records or [])
    assert (status == local.document["status"]) != ("list_not_yet" in case.options)


@pytest.mark.parametrize("case", _marked(REFUSED))
def test_file_is_refused_with_these_diagnostics(case: Case) -> None:
    diagnostics = diagnostics_of(case)
    found = sorted(
        (d.span.line if d.span else 0, d.span.column if d.span else 0, d.code, d.message, d.help)
        for d in diagnostics
    )
    actual = [f"{code} {row}:{column} {message}" for row, column, code, message, _ in found]
    expected = case.blocks["diagnostics"]

    assert len(expected) == len(actual), actual
    for wanted, told, (*_, advice) in zip(expected, actual, found, strict=True):
        code, place, text = wanted.split(" ", 2)
        text, _, wanted_help = text.partition(" => ")
        assert told.startswith(f"{code} {place} "), actual
        assert text in told, actual
        assert wanted_help in advice, advice
    assert not case.severity or {one.severity for one in diagnostics} == {case.severity}


def test_every_case_says_what_must_come_of_it() -> None:
    assert [case.id for case in CASES if case not in RUN and case not in REFUSED] == []


def test_titles_are_unique() -> None:
    titles = [case.id for case in CASES]

    assert sorted(set(titles)) == sorted(titles)


def _timeless(document: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in document.items() if key != "run"}
