"""The records of a case: what its outcome says of them, and what is true of those of any run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from whorl.runtimes.journal.folding import fold
from whorl.services.records import document, records_of

if TYPE_CHECKING:
    from whorl.runtimes.journal.journal import Journal, RunId

_ALL = 100_000
# So many places of a run are asked for one by one.
_PLACES = 3


def records_in(journal: Journal, run: RunId, at: str = "") -> list[dict[str, Any]]:
    """The records of a place and of all that lies in it."""
    return [*map(document, records_of(journal, run, at, depth=None, limit=_ALL).records)]


def contradictions(journal: Journal, run: RunId, records: list[dict[str, Any]]) -> list[str]:
    """Where the records of a run differ from its journal, or from those of one place of it."""
    entries = len(list(journal.read(run)))
    machine = fold(journal, run).machine
    tried = {attempt["address"] for r in records for attempt in r.get("attempts", ())}
    tried |= {record["address"] for record in records}
    found = [
        f"there is no record of {entry.event.kind} at {entry.event.address!r}"
        for entry in journal.read(run)
        if entry.event.kind in ("task.finished", "task.failed", "iteration.started")
        and entry.event.address not in tried
    ]
    if machine.done:
        open_ones = [r["address"] for r in records if r["status"] in ("running", "waiting")]
        found += [f"{address!r} is under way in a run that has ended" for address in open_ones]
    outer = [r for r in records if not {"/", "["} & set(r["address"])]
    forked = any(journal.read(run, kinds=frozenset({"run.forked"})))
    if not forked and not any(record["status"] == "cancelled" for record in outer):
        calls = sum(record["usage"]["calls"] for record in outer)
        found += _differs("calls", calls, machine.state["usage"].get("calls", 0))
    ended = journal.read(run, kinds=frozenset({"iteration.finished"}))
    # One that was stopped and went on is told of again.
    for address, body in {entry.event.address: entry.event.body for entry in ended}.items():
        used: Any = body.get("usage") or {}
        same = [r["usage"]["calls"] for r in records if r["address"] == address]
        if body["status"] == "succeeded" and len(same) == 1:
            found += _differs(f"calls of {address!r}", same[0], used.get("calls", 0))
    places = list(dict.fromkeys(record["address"] for record in records))
    for place in places[:: max(1, len(places) // _PLACES)]:
        inside = [r for r in records if _is_inside(place, r["address"])]
        found += _differs(f"what is at {place!r}", records_in(journal, run, place), inside)
    if machine.plan.is_confidential:
        secrets = fold(journal, run, to_drive=True).machine.state.get("secrets", ())
        # Other fields are the engine's own words, and a short secret may be a part of another word.
        text = json.dumps([(r["inputs"], r["output"]) for r in records])
        long = [secret for secret in secrets if len(secret) > 3]
        found += [f"a record tells {secret!r}" for secret in long if secret in text]
    return found + _differs("entries", len(list(journal.read(run))), entries)


def differences(expected: dict[str, Any], records: list[dict[str, Any]]) -> list[str]:
    """Where records differ from what is expected of them, by address; a list: of each attempt."""
    found: list[str] = []
    for address, wanted in expected.items():
        same = [record for record in records if record["address"] == address]
        for fields in wanted if isinstance(wanted, list) else [wanted]:
            if not same:
                known = [record["address"] for record in records]
                found.append(f"there is no record of {address!r}: {known}")
                break
            record = same.pop(0)
            for name, value in fields.items():
                actual = record.get(name)
                if name == "error" and isinstance(value, str) and isinstance(actual, dict):
                    actual = actual["code"]
                found += _differs(f"{name} of {address!r}", actual, value)
    return found


def ends(records: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """How steps ended: the same wherever a case is run, whatever its run is called."""
    return [(r["address"], r["kind"], r["status"], r.get("reason")) for r in records]


def _is_inside(place: str, address: str) -> bool:
    return address.startswith(place) and address[len(place) :][:1] in ("", "/", "[", "#")


def _differs(name: str, actual: Any, wanted: Any) -> list[str]:
    if isinstance(actual, float):
        # The local runtime takes the time between two looks at its clock for passed.
        actual = round(actual, 3)
    return [] if actual == wanted else [f"{name} is {actual!r}, not {wanted!r}"]
