"""What a test expects against what came of its run.

Objects are compared by the fields that are named, everything else as a whole; `{contains: ...}`
stands for any text or list that holds so much.
"""

from __future__ import annotations

import json
from math import isclose
from typing import TYPE_CHECKING, Any

from whorl.dialects.mocking import mock_words
from whorl.services.inspecting.results import loop_document
from whorl.wings.testing.step_keys import key_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.language import Json
    from whorl.wings.testing.running import Outcome
    from whorl.wings.testing.step_keys import Key

_SHOWN_MAX = 300
_REPETITIONS = ("iteration", "item")
# The kinds of records of what the engine does by itself.
COMPUTING = (
    *("compute", "assign", "branch", "group", "foreach", "item", "loop", "iteration"),
    *("call", "wait", "stop", "break", "continue"),
)


def failures_of(outcome: Outcome, expect: dict[str, Any]) -> list[str]:
    """What is not as it is expected, one line each; what the test lacks comes first."""
    usual = {"status": "failed" if "error" in expect else "succeeded"}
    return [*dict.fromkeys(outcome.problems), *_failures(outcome, usual | expect)]


def _failures(outcome: Outcome, expect: dict[str, Any]) -> Iterator[str]:
    result = outcome.result
    for name in ("status", "output", "outputs", "usage"):
        if name in expect:
            actual = result[name]
            wanted = _status(outcome, expect[name]) if name == "status" else expect[name]
            why = f"; {result['error']['message']}" if name == "status" and result["error"] else ""
            yield from (line + why for line in differences(wanted, actual, name))
    if "error" in expect:
        yield from _error_faults(expect["error"], result["error"], "error")
    if "seconds" in expect:
        yield from differences(expect["seconds"], round(outcome.seconds, 6), "seconds")
    for text, wanted in expect.get("loops", {}).items():
        yield from _loop_faults(outcome, text, wanted)
    records = outcome.records() if "steps" in expect else []
    for text, wanted in expect.get("steps", {}).items():
        yield from _step_faults(outcome, records, text, wanted)


def _status(outcome: Outcome, word: str) -> str:
    """A status by the engine's word."""
    words = {each.lower(): s for each, s in mock_words(outcome.workflow.dialect).statuses.items()}
    return words.get(word.lower(), word.lower())


def _loop_faults(outcome: Outcome, text: str, wanted: dict[str, Any]) -> Iterator[str]:
    key = key_of(text, outcome.mocks.steps)
    rows = [row for row in outcome.journal.loops(outcome.run) if key.fits(row.address)]
    if not rows:
        yield f"loops.{text}: it was not reached"
    for row in rows:
        yield from differences(wanted, loop_document(row), f"loops.{row.address}")


def _step_faults(
    outcome: Outcome, records: list[dict[str, Any]], text: str, wanted: dict[str, Any]
) -> Iterator[str]:
    key = key_of(text, outcome.mocks.steps)
    meant = [r for r in records if key.fits(r["address"]) and r["kind"] not in _REPETITIONS]
    # What calls nobody counts as often as it ran.
    ran = sum(r["kind"] in COMPUTING and r["status"] != "skipped" for r in meant)
    count = sum(key.fits(call.address) for call in outcome.calls) or ran
    if "calls" in wanted and count != wanted["calls"]:
        yield f"steps.{text}.calls: expected {wanted['calls']}, got {count}"
    if not meant and set(wanted) - {"calls"}:
        yield f"steps.{text}: it was not reached"
    for record in meant:
        place = f"steps.{record['address']}"
        if "status" in wanted:
            status = _status(outcome, wanted["status"])
            yield from differences(status, record["status"], f"{place}.status")
        if "output" in wanted:
            yield from differences(wanted["output"], record["output"], f"{place}.output")
        if "error" in wanted:
            yield from _error_faults(wanted["error"], record["error"], f"{place}.error")
    if "inputs" in wanted:
        yield from _input_faults(outcome, key, meant, wanted["inputs"])


def _input_faults(
    outcome: Outcome, key: Key, records: list[dict[str, Any]], wanted: Json
) -> Iterator[str]:
    """What calls were given, or else what the records of steps that call nobody tell."""
    given = [(call.address, call.inputs) for call in outcome.calls if key.fits(call.address)]
    for address, inputs in given or [(r["address"], r["inputs"]) for r in records]:
        yield from differences(wanted, inputs, f"steps.{address}.inputs")


def _error_faults(wanted: Any, error: Any, place: str) -> Iterator[str]:
    wanted = {"message": wanted} if isinstance(wanted, str) else wanted
    if error is None:
        yield f"{place}: expected one, there is none"
        return
    codes = (error["code"], (error.get("cause") or {}).get("code"))
    if "code" in wanted and wanted["code"] not in codes:
        yield f"{place}.code: expected {wanted['code']}, got {' and '.join(filter(None, codes))}"
    if wanted.get("message", "") not in str(error["message"]):
        yield from _differs(wanted["message"], error["message"], f"{place}.message", "in it ")


def differences(wanted: Json, actual: Json, place: str) -> Iterator[str]:
    """How a value differs from what is expected of it."""
    if isinstance(wanted, dict) and set(wanted) == {"contains"}:
        part = wanted["contains"]
        is_in = part in actual if isinstance(actual, list | dict) else False
        if not is_in and not (isinstance(actual, str) and str(part) in actual):
            yield from _differs(part, actual, place, "in it ")
    elif isinstance(wanted, dict) and isinstance(actual, dict):
        for name, value in wanted.items():
            yield from differences(value, actual.get(name), f"{place}.{name}")
    elif isinstance(wanted, list) and isinstance(actual, list) and len(wanted) == len(actual):
        for at, (value, other) in enumerate(zip(wanted, actual, strict=True)):
            yield from differences(value, other, f"{place}[{at}]")
    elif not _is_same(wanted, actual):
        yield from _differs(wanted, actual, place)


def _is_same(wanted: Json, actual: Json) -> bool:
    if isinstance(wanted, bool) or isinstance(actual, bool):
        return wanted is actual
    if isinstance(wanted, int | float) and isinstance(actual, int | float):
        return isclose(wanted, actual, rel_tol=1e-9, abs_tol=1e-9)
    return wanted == actual


def _differs(wanted: Json, actual: Json, place: str, how: str = "") -> Iterator[str]:
    expected, got = (_shown(value) for value in (wanted, actual))
    yield f"{place}: expected {how}{expected}, got {got}"


def _shown(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}..."
