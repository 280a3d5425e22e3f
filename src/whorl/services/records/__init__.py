"""Records of the steps of a run: the inputs, output, outcome and cost of each step.

They are derived from the journal on request, and never stored.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from whorl.lazily import dataclass
from whorl.providers.redaction import redact
from whorl.runtimes.journal.folding import as_far_as_open
from whorl.runtimes.journal.sealed_secrets import redacted, redaction_of
from whorl.services.inspecting.results import usage_document
from whorl.services.records.lookup import RecordLookup
from whorl.services.records.recorder import Focus, Record, Recorder

__all__ = ["LIMIT", "Record", "Records", "RunRecords", "document", "document_of", "records_of"]

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whorl.interpreter.machine import Machine
    from whorl.language import Json
    from whorl.providers.redaction import Redaction, Secret
    from whorl.runtimes.journal.journal import Journal, RunId
    from whorl.runtimes.journal.keys import Seals
    from whorl.runtimes.sqlite import SqliteStore

# The default number of records in one answer.
LIMIT = 1_000


@dataclass(frozen=True, slots=True)
class Records:
    """Records in the order in which their steps began, and whether more follow."""

    records: list[Record]
    more: bool


def records_of(
    journal: Journal,
    run: RunId,
    at: str = "",
    *,
    depth: int | None = 0,
    after: int = 0,
    limit: int = LIMIT,
    only_repetitions: bool = False,
    secrets: Sequence[Secret] = (),
) -> Records:
    """Returns the records of a place and everything inside it; without a place, of the run.

    `depth` is the number of levels of iterations and items inside the place, or None for all. With
    `only_repetitions` there are only these. The first `after` records are left out. Secret and
    secure values are removed, also the operator's `secrets`, which computed values may contain.
    """

    def sought(seals: Seals | None) -> tuple[Machine, Recorder]:
        recorder = Recorder(Focus(at.rstrip("/"), depth, only_repetitions), after + limit)
        return RecordLookup(journal, run, recorder, seals).seek(), recorder

    machine, recorder = as_far_as_open(journal, sought)
    records = recorder.found(machine)[after:]
    redaction = redaction_of(machine.state.get("secrets", ()))

    def hidden(name: str, value: Json) -> Json:
        if redaction is not None:
            value = _without_secrets(name, value, redaction)
        return redact(value, secrets)

    for record in records if redaction is not None or secrets else ():
        record.hide(hidden)
    return Records(records, recorder.is_full)


def _without_secrets(name: str, value: Any, redaction: Redaction) -> Json:
    """Returns a field of a record without the run's secrets; words of Whorl in it stay."""
    if name == "because":
        return redacted(value, redaction)
    return redacted({name: value}, redaction)[name] if name == "error" else redaction.value(value)


@dataclass(frozen=True, slots=True)
class RunRecords:
    """The records of one run, as an interface shows them."""

    store: SqliteStore
    run: RunId
    secrets: Sequence[Secret]

    def of(self, at: str = "", **asked: Any) -> Records:
        """Returns `records_of` the run; `asked` are its options."""
        return records_of(self.store, self.run, at, secrets=self.secrets, **asked)


def document(record: Record) -> dict[str, Json]:
    """Returns a record as JSON; times are seconds since the epoch."""
    names = "address name kind status started_at ended_at inputs output error"
    fields: dict[str, Json] = {name: getattr(record, name) for name in names.split()}
    fields["path"] = record.node.removeprefix(":")
    fields["seconds"] = None
    if record.started_at is not None and record.ended_at is not None:
        fields["seconds"] = round(record.ended_at - record.started_at, 6)
    fields["usage"] = usage_document({**record.usage})
    more = "reason because branch number repetitions"
    fields |= {name: fact for name in more.split() if (fact := getattr(record, name))}
    if len(record.attempts) > 1:
        fields["attempts"] = [asdict(attempt) for attempt in record.attempts]
    return fields


def document_of(found: Records) -> dict[str, Json]:
    return {"records": [*map(document, found.records)], "more": found.more}
