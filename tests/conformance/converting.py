"""Converts every case that runs, and compares what comes of it before and after.

Cases of the native format go to a dialect and back; cases of another dialect go to the native
format. A conversion either gives the same result or lists what cannot be said.

    PYTHONPATH=tests python -m conformance.converting [TARGET] [--losses]
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from conformance.literate import load_cases
from conformance.reading import workflow_of
from conformance.replies import Script
from conformance.running import run_simulated
from whorl.dialects.writing import read_again, write_workflow, writers
from whorl.errors import InvalidWorkflow

if TYPE_CHECKING:
    from conformance.expecting import Result
    from conformance.literate import Case
    from whorl.dialects.writing import Loss, Written
    from whorl.ir import Workflow

_FILE = "case.yaml"
_ASKED = ("prompt", "system", "model", "temperature", "max_tokens", "tools", "max_turns")
_TOLD = ("status", "output", "outputs", "loops", "usage")


@dataclass(frozen=True, slots=True)
class Converted:
    """A case in another dialect; with losses it has no case."""

    case: Case | None = None
    losses: tuple[Loss, ...] = ()


def runnable_cases() -> list[Case]:
    """The cases that run on the simulated runtime."""
    return [
        case for case in load_cases() if "outcome" in case.blocks and "not_yet" not in case.options
    ]


def convert(case: Case, target: str) -> Converted:
    """A case in the native format again, by way of `target`."""
    written = write_workflow(workflow_of(case), target, _FILE)
    if target != "native" and not written.losses:
        written = write_workflow(_read(written, target), "native", _FILE)
    if written.losses:
        return Converted(losses=written.losses)
    files = {name: text for name, text in written.files.items() if name != written.main}
    return Converted(replace(case, dialect="native", workflow=written.text, files=files))


def _read(written: Written, dialect: str) -> Workflow:
    try:
        return read_again(written, dialect).workflow
    except InvalidWorkflow as fault:
        told = [f"{one.message} ({one.span})" for one in fault.diagnostics]
        raise AssertionError(f"{told}\n{written.text}") from None


def differences(case: Case, converted: Case) -> list[str]:
    """Where a converted case goes another way than the case itself."""
    replies = case.blocks.get("replies") or {}
    before, after = Script(replies), Script(replies | _further_in(replies))
    wanted, actual = _told(run_simulated(case, before)), _told(run_simulated(converted, after))
    found = [
        f"{key}: {wanted[key]} -> {actual[key]}" for key in wanted if wanted[key] != actual[key]
    ]
    if _calls(before) != _calls(after):
        found.append(f"calls: {_calls(before)} -> {_calls(after)}")
    return found


def _further_in(replies: dict[str, Any]) -> dict[str, Any]:
    """Replies by address, also for calls that stand in a step of their own after a conversion."""
    parts = ((key.rpartition("/"), value) for key, value in replies.items() if "/" in key)
    return {f"{outer}/*/{last}": value for (outer, _, last), value in parts}


def _calls(script: Script) -> Counter[str]:
    """How often which step was asked what, and of which model."""
    found: Counter[str] = Counter()
    for address, count in script.performed.items():
        inputs = dict(script.inputs[address])
        provider = inputs.pop("provider", None)
        if provider:
            inputs["model"] = f"{provider}/{inputs['model']}"
        asked = {name: str(inputs[name]) for name in _ASKED if inputs.get(name) is not None}
        found[f"{address.rpartition('/')[2]} {asked}"] += count
    return found


def _told(result: Result) -> dict[str, Any]:
    document = result.document
    error = document["error"] or {}
    told = {key: document[key] for key in _TOLD}
    return told | {"error": error.get("code"), "waits_for": result.waits_for}


def ways() -> list[tuple[str, str]]:
    """From which dialect's cases to which target: native to all, and all to native."""
    dialects = dict.fromkeys(case.dialect for case in load_cases())
    there = [("native", target) for target in writers()]
    return there + [(dialect, "native") for dialect in dialects if dialect != "native"]


def main(words: list[str]) -> int:
    """Prints how many cases are the same, cannot be said, or are wrong, for each way."""
    wrong = 0
    for source, target in ways():
        if words and words[0] not in (source, target, "--losses"):
            continue
        counts: Counter[str] = Counter()
        for case in runnable_cases():
            if case.dialect == source:
                counts[_judged(case, target, tell="--losses" in words)] += 1
        told = ", ".join(f"{counts[word]} {word}" for word in ("same", "cannot say", "WRONG"))
        sys.stdout.write(f"{source} -> {target}{' -> native' * (source == 'native')}: {told}\n")
        wrong += counts["WRONG"]
    return 1 if wrong else 0


def _judged(case: Case, target: str, *, tell: bool) -> str:
    try:
        converted = convert(case, target)
        if converted.case is None:
            if tell:
                said = "".join(f"    {loss.words()}\n" for loss in converted.losses)
                sys.stdout.write(f"{case.id}\n{said}")
            return "cannot say"
        found = differences(case, converted.case)
    except (AssertionError, InvalidWorkflow) as fault:
        found = [str(fault)]
    for one in found:
        sys.stdout.write(f"{case.id}: {one}\n")
    return "WRONG" if found else "same"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
