"""Large values by reference: events carry a preview, and the value itself is fetched on demand.

A reference is the number of an entry and a path into its body, so it needs no memory of its own
and leads to nothing but the run that it is asked of.
"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, TypeAlias

from whorl.errors import UsageError
from whorl.interfaces.figures import paragraphs, written
from whorl.services.redaction import shown

if TYPE_CHECKING:
    from whorl.language import Json
    from whorl.runtimes.journal import RunId
    from whorl.runtimes.sqlite import SqliteStore

BODY_MAX = 8_000
VALUE_MAX = 4_000
PREVIEW_MAX = 400
_PATH_MAX = 1_000
_ENTRIES_MAX = 200

Path: TypeAlias = tuple[str | int, ...]


def abridged(body: dict[str, Json], seq: int) -> dict[str, Json]:
    """The body of an entry with references in the place of what is large in it."""
    if _size(body) <= BODY_MAX:
        return body
    found = {name: _abridged(value, seq, (name,)) for name, value in body.items()}
    if _size(found) <= BODY_MAX * 4:
        return found
    return {name: _reference(value, seq, (name,)) for name, value in body.items()}


def value_at(store: SqliteStore, run: RunId, ref: str) -> Json:
    """The value that a reference leads to. Raises UsageError W903."""
    seq, path = _parsed(ref)
    entry = next(iter(store.read(run, after=seq - 1, limit=1)), None) if seq > 0 else None
    value: Json = shown(entry.event) if entry is not None else None
    for step in path:
        try:
            value = value[step]  # type: ignore[index]
        except (TypeError, LookupError):
            raise _unknown(ref) from None
    if entry is None or not path:
        raise _unknown(ref)
    return value


def _abridged(value: Json, seq: int, path: Path) -> Json:
    size = _size(value)
    if size <= VALUE_MAX:
        return value
    if not isinstance(value, dict | list) or len(value) > _ENTRIES_MAX:
        return _reference(value, seq, path)
    if len(_encoded(path)) > _PATH_MAX:
        return _reference(value, seq, path)
    if isinstance(value, dict):
        inner: Json = {k: _abridged(v, seq, (*path, k)) for k, v in value.items()}
    else:
        inner = [_abridged(v, seq, (*path, at)) for at, v in enumerate(value)]
    return inner if _size(inner) <= BODY_MAX else _reference(value, seq, path)


def _reference(value: Json, seq: int, path: Path) -> Json:
    size = _size(value)
    if size <= VALUE_MAX:
        return value
    preview = paragraphs(written(value)[:PREVIEW_MAX])
    return {"$ref": f"{seq}.{_encoded(path)}", "size": size, "preview": preview}


def _size(value: Json) -> int:
    return len(value) if isinstance(value, str) else len(json.dumps(value, ensure_ascii=False))


def _encoded(path: Path) -> str:
    text = json.dumps(path, ensure_ascii=False, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode("utf-8", "replace")).decode("ascii").rstrip("=")


def _parsed(ref: str) -> tuple[int, list[str | int]]:
    number, _, encoded = ref.partition(".")
    try:
        text = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode("utf-8")
        path = json.loads(text)
        seq = int(number)
    except (ValueError, RecursionError):
        raise _unknown(ref) from None
    if not isinstance(path, list) or not all(isinstance(step, str | int) for step in path):
        raise _unknown(ref)
    return (seq, path) if seq < 2**53 else (0, path)


def _unknown(ref: str) -> UsageError:
    return UsageError(f"the run has no value {ref[:80]!r}", code="W903")
