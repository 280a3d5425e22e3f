"""Large values of entries and records go out as a preview, and the whole on demand.

A reference is the number of an entry and a path into its body, so it needs no memory of its own
and leads to nothing but the run that it is asked of. A value of a record, which is derived again,
has 0 for the number of an entry.
"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from whorl.errors import UsageError
from whorl.interfaces.formatting import paragraphs, written
from whorl.interfaces.http.schemas.queries import RECORDS_MAX
from whorl.runtimes.journal.sealed_secrets import shown
from whorl.services.records import document

if TYPE_CHECKING:
    from whorl.interpreter.events import Event
    from whorl.language import Json
    from whorl.services.records import RunRecords

BODY_MAX = 8_000
VALUE_MAX = 4_000
PREVIEW_MAX = 400
_PATH_MAX = 1_000
_ENTRIES_MAX = 200

_Path: TypeAlias = tuple[str | int, ...]


def abridged(body: dict[str, Json], seq: int) -> dict[str, Json]:
    if _size(body) <= BODY_MAX:
        return body
    short = {name: shortened(value, seq, (name,)) for name, value in body.items()}
    if _size(short) <= BODY_MAX * 4:
        return short
    return {name: _reference(value, seq, (name,)) for name, value in body.items()}


def value_at(records: RunRecords, ref: str) -> Json:
    number, _, encoded = ref.partition(".")
    try:
        text = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode("utf-8")
        path, seq = json.loads(text), int(number)
        is_path = isinstance(path, list) and all(isinstance(step, str | int) for step in path)
        if not is_path or not path or not 0 <= seq < 2**53:
            raise ValueError
        value: Any = _recorded(records, path) if seq == 0 else _entry(records, seq)
        for step in path:
            value = value[step]
    except (ValueError, RecursionError, TypeError, LookupError, StopIteration):
        raise UsageError(f"the run has no value {ref[:80]!r}", code="W903") from None
    return cast("Json", value)


def _entry(records: RunRecords, seq: int) -> Any:
    return body_of(next(iter(records.store.read(records.run, after=seq - 1, limit=1))).event)


def body_of(event: Event) -> dict[str, Json]:
    """What an entry says; what signs the addresses at which a run waits is for nobody who looks."""
    return {name: value for name, value in shown(event).items() if name != "callback"}


def _recorded(records: RunRecords, path: list[Any]) -> Any:
    """The record that a path begins with, which is taken from it: its address, and which one."""
    address, occurrence = str(path.pop(0)), int(path.pop(0))
    found = records.of(address, limit=RECORDS_MAX).records
    return document([record for record in found if record.address == address][occurrence])


def shortened(value: Json, seq: int, path: _Path) -> Json:
    if _size(value) <= VALUE_MAX:
        return value
    is_far = len(_encoded(path)) > _PATH_MAX
    if is_far or not isinstance(value, dict | list) or len(value) > _ENTRIES_MAX:
        return _reference(value, seq, path)
    if isinstance(value, dict):
        inner: Json = {k: shortened(v, seq, (*path, k)) for k, v in value.items()}
    else:
        inner = [shortened(v, seq, (*path, at)) for at, v in enumerate(value)]
    return inner if _size(inner) <= BODY_MAX else _reference(value, seq, path)


def _reference(value: Json, seq: int, path: _Path) -> Json:
    size = _size(value)
    if size <= VALUE_MAX:
        return value
    preview = paragraphs(written(value)[:PREVIEW_MAX])
    return {"$ref": f"{seq}.{_encoded(path)}", "size": size, "preview": preview}


def _size(value: Json) -> int:
    return len(value) if isinstance(value, str) else len(json.dumps(value, ensure_ascii=False))


def _encoded(path: _Path) -> str:
    text = json.dumps(path, ensure_ascii=False, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode("utf-8", "replace")).decode("ascii").rstrip("=")
