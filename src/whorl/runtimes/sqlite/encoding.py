"""Encodes events as rows: JSON text, deflated if that is smaller; large values once, by hash.

The column `large` lists the large values as (path, payload number). The storage class of the
column `body` shows whether it is deflated. Nothing inside the JSON marks either of them. A checksum
over each row detects damage. Numbers of kinds never change within a format version.
"""

from __future__ import annotations

import json
import struct
import zlib
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from whorl.errors import InternalError, StoreError
from whorl.interpreter.events import Event
from whorl.language.chunked_json import read_pieces, refuse_constant, write_pieces
from whorl.source import without_surrogates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import apsw

    from whorl.language import Json


BODY_BYTES_MAX: Final = 64 * 1024 * 1024
INLINE_MAX: Final = 8192
DEFLATE_MIN: Final = 512

# The window holds a whole inline body; a small state makes starting the compressor cheap.
_WINDOW_BITS: Final = -13
_MEMORY_LEVEL: Final = 5

# The number of an entry, its kind and its time.
_PLACE: Final = struct.Struct("<qqd").pack

_FED: Final = """run.started task.started task.finished task.failed task.in_doubt timer.fired
    gate.decided run.paused run.resumed run.cancelled run.continued run.accepted run.forked
    task.held task.sent run.exhausted program.stepped"""
_NOTES: Final = """loop.started iteration.started iteration.finished loop.finished
    node.finished node.skipped task.retrying gate.waiting budget.reached run.waiting
    run.finished warning loop.continued run.answered"""
# In the order of their numbers; what the machine is fed is counted from 1, its notes from 32.
KIND_NAMES: Final = dict(enumerate(_FED.split(), 1)) | dict(enumerate(_NOTES.split(), 32))
KIND_NUMBERS: Final = {kind: number for number, kind in KIND_NAMES.items()}


Path: TypeAlias = tuple[str | int, ...]
Stored: TypeAlias = str | bytes

_ENCODER: Final = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), allow_nan=False, check_circular=False
)
_DECODER: Final = json.JSONDecoder(parse_constant=refuse_constant)
_MAKE: Final = json.encoder.c_make_encoder  # type: ignore[attr-defined]
# What `encode` uses, made once: making it takes longer than encoding a small body.
_CHUNKS: Final[Callable[[Json, int], Iterable[str]]] = _MAKE(
    None, _ENCODER.default, json.encoder.encode_basestring, None, ":", ",", False, False, False
)


# No SQLite has to store half a character.
whole = without_surrogates


class Encoded(NamedTuple):
    """An encoded event; `large` has the texts that are stored as payloads."""

    kind: int
    at: float
    address: str
    body: Stored
    large: tuple[tuple[Path, str], ...] = ()


class Unreadable(Exception):
    """Raised for a row that is damaged, or of a version of Whorl that is not known here (R901)."""

    def __init__(self, message: str, code: str = "R906") -> None:
        super().__init__(message)
        self.code = code


def encode(event: Event, *, is_split: bool = True, is_large: bool = False) -> Encoded:
    """Returns the row of an event; without `is_split` it stays in one piece at any size.

    If it `is_large`, the JSON is written in pieces, so that it does not hold up other threads.
    """
    kind = KIND_NUMBERS.get(event.kind)
    if kind is None:
        raise InternalError(f"the journal has no number for events of kind {event.kind!r}")
    text = to_text(event.body, is_large=is_large)
    if len(text) > BODY_BYTES_MAX:
        raise InternalError(
            f"the event {event.kind!r} at {event.address!r} has {len(text)} characters;"
            f" the journal takes {BODY_BYTES_MAX}"
        )
    if len(text) < DEFLATE_MIN:
        return Encoded(kind, float(event.at), whole(event.address), text)
    large: list[tuple[Path, str]] = []
    if is_split and len(text) > INLINE_MAX:
        text = to_text(_without_long_texts(event.body, (), large), is_large=is_large)
        if len(text) > INLINE_MAX:
            # Many short texts remain: all of it is large.
            large.insert(0, ((), text))
            text = "{}"
    return Encoded(kind, float(event.at), whole(event.address), deflate(text), tuple(large))


def decode(
    kind: int,
    at: float,
    address: str,
    body: Stored,
    large: str | None = None,
    *,
    fetch: Callable[[int], Json] = lambda _: None,
) -> Event:
    """Returns the event of a row, with its large values. Raises Unreadable."""
    name = KIND_NAMES.get(kind)
    if name is None:
        words = f"this version of Whorl does not know the event kind number {kind!r}"
        raise Unreadable(words, "R901" if isinstance(kind, int) else "R906")
    value: Any = from_text(inflate(body))
    try:
        for path, number in json.loads(large) if large is not None else ():
            place, payload = value, fetch(int(number))
            if not path:
                value = payload
                continue
            for part in path[:-1]:
                place = place[part]
            place[path[-1]] = payload
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise Unreadable(f"its list of large values is damaged ({error})") from error
    if not isinstance(value, dict):
        raise Unreadable("its JSON is not an object")
    return Event(name, address, at, value)


def checksum(place: tuple[int, int, float], address: Any, body: Any, large: Any) -> int:
    """Returns the checksum of an entry, or -1 if Whorl cannot have written such values.

    The place of an entry is its number, its kind and its time.
    """
    try:
        if large:
            address += large
        if type(body) is str:
            return zlib.crc32(_PLACE(*place) + (address + body).encode())
        return zlib.crc32(body, zlib.crc32(_PLACE(*place) + address.encode()))
    except (struct.error, TypeError, AttributeError):
        return -1


def to_text(value: Json, *, is_large: bool = False) -> str:
    """Returns compact JSON that any SQLite can store: no lone surrogates, NUL escaped."""
    try:
        if is_large:
            return whole("".join(write_pieces(value, _ENCODER.encode)))
        return whole("".join(_CHUNKS(value, 0)))
    except (TypeError, ValueError, RecursionError) as error:
        raise InternalError(f"a value for the journal is not JSON: {error}") from error


def from_text(text: str) -> Json:
    try:
        value: Json = read_pieces(text, _DECODER)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"its JSON is damaged ({error})") from error
    return value


def remembered(key: str, texts: Iterable[str]) -> list[Json]:
    """The records under a key of a memory."""
    try:
        return [from_text(text) for text in texts]
    except Unreadable as error:
        words = f"what is remembered under {key!r} cannot be read: {error}"
        advice = f"delete it with `whorl project memory rm {key}`"
        raise StoreError(words, help=advice, code="R906") from error


def deflate(text: str) -> Stored:
    """Returns the text, or its deflated form if that is at least a tenth smaller."""
    if len(text) < DEFLATE_MIN:
        return text
    plain = text.encode()
    packer = zlib.compressobj(1, zlib.DEFLATED, _WINDOW_BITS, _MEMORY_LEVEL)
    packed = packer.compress(plain) + packer.flush()
    return packed if len(packed) * 10 < len(plain) * 9 else text


def inflate(stored: Stored, window_bits: int = _WINDOW_BITS) -> str:
    if isinstance(stored, str):
        return stored
    if not isinstance(stored, bytes):
        raise Unreadable("its body is neither text nor deflated text")
    try:
        unpacker = zlib.decompressobj(window_bits)
        plain = unpacker.decompress(stored, BODY_BYTES_MAX * 4)
        if not unpacker.eof:
            raise Unreadable("its body is cut short or too large")
        return plain.decode()
    except (zlib.error, UnicodeDecodeError) as error:
        raise Unreadable(f"its body is damaged ({error})") from error


def put_payload(connection: apsw.Connection, run: int, text: str) -> int:
    """Stores a JSON text for a run, unless it is already stored; returns its number."""
    content = text.encode()
    digest = sha256(content).digest()
    number = connection.execute("SELECT id FROM payloads WHERE hash = ?", (digest,)).get
    if number is None:
        packed = zlib.compress(content)
        deflated = len(packed) < len(content)
        connection.execute(
            "INSERT INTO payloads(hash, size, deflated, content) VALUES(?, ?, ?, ?)",
            (digest, len(content), deflated, packed if deflated else content),
        )
        number = connection.last_insert_rowid()
    connection.execute("INSERT OR IGNORE INTO payload_uses VALUES(?, ?)", (run, number))
    return int(number)


def payload(connection: apsw.Connection, number: int) -> Json:
    stored = "SELECT hash, deflated, content FROM payloads WHERE id = ?"
    rows = connection.execute(stored, (number,)).fetchall()
    if not rows:
        raise Unreadable(f"its payload number {number} is missing")
    digest, deflated, content = rows[0]
    if not isinstance(content, bytes):
        raise Unreadable(f"its payload number {number} is damaged")
    text = inflate(content, zlib.MAX_WBITS) if deflated else content.decode("utf-8", "replace")
    if sha256(text.encode()).digest() != digest:
        raise Unreadable(
            f"its payload number {number} does not have the content it was stored with"
        )
    return from_text(text)


def _without_long_texts(value: Json, path: Path, large: list[tuple[Path, str]]) -> Json:
    if isinstance(value, str):
        if len(value) <= INLINE_MAX:
            return value
        large.append((path, to_text(value, is_large=True)))
        return None
    if isinstance(value, dict):
        return {k: _without_long_texts(v, (*path, k), large) for k, v in value.items()}
    if isinstance(value, list):
        return [_without_long_texts(v, (*path, i), large) for i, v in enumerate(value)]
    return value
