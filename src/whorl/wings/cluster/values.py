"""Values on their way through Temporal: JSON in the order of its keys, large ones elsewhere.

Temporal takes values of 2 MB at most, so a large value is stored under its content hash in a place
that all workers and readers share. With a key, every value is encrypted for one run and one call
before it is sent. Unencrypted values, and those of other calls, are refused.
"""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import json
import os
import re
import secrets
from contextlib import contextmanager
from copy import copy
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from temporalio.api.common.v1 import Payload
from temporalio.converter import (
    ActivitySerializationContext,
    CompositePayloadConverter,
    DataConverter,
    DefaultFailureConverterWithEncodedAttributes,
    DefaultPayloadConverter,
    EncodingPayloadConverter,
    PayloadCodec,
    SerializationContext,
    WithSerializationContext,
    WorkflowSerializationContext,
)

from whorl.errors import StoreError, UsageError
from whorl.lazily import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whorl.providers.settings import TemporalSettings

LARGE = 64 * 1024
_JSON = "json/plain"
_ENCRYPTED = b"whorl/encrypted"
_ELSEWHERE = b"whorl/file"
_NONCE = 12
_NAME = re.compile(rb"[0-9a-f]{64}")
# The suffix that Temporal adds to the id of a workflow that a schedule starts.
_FIRED_AT = re.compile(r"-\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
_ADVICE = (
    "set `values` and `encrypt_with` in [runtime.temporal] as workers have them; "
    "if they are the same, check who else writes to the namespace and to `values`"
)


class _OrderedJson(EncodingPayloadConverter):
    """Keeps the order of keys, which the SDK sorts: a run's main output is its first one."""

    @property
    def encoding(self) -> str:
        return _JSON

    def to_payload(self, value: Any) -> Payload | None:
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        return Payload(metadata={"encoding": _JSON.encode()}, data=text.encode())

    def from_payload(self, payload: Payload, type_hint: type | None = None) -> Any:
        return json.loads(payload.data)


class _Converter(CompositePayloadConverter):
    """Raises StoreError R920 for a value that needs a codec, as its reader has none."""

    def __init__(self) -> None:
        usual = DefaultPayloadConverter().converters.values()
        super().__init__(*(_OrderedJson() if c.encoding == _JSON else c for c in usual))

    def from_payloads(
        self, payloads: Sequence[Payload], type_hints: list[type] | None = None
    ) -> list[Any]:
        if any(each.metadata.get("encoding") in (_ENCRYPTED, _ELSEWHERE) for each in payloads):
            raise _unreadable("it is encrypted, or stored elsewhere")
        return super().from_payloads(payloads, type_hints)


class Codec(PayloadCodec, WithSerializationContext):
    """Encrypts values and stores large ones in a place. Raises StoreError R920.

    `_bound` names the run and the call of a value; the encryption is bound to both.
    """

    def __init__(self, place: BlobStore | None = None, key: str = "") -> None:
        self._place = place
        self._cipher = AESGCM(hashlib.sha256(key.encode()).digest()) if key else None
        self._bound = b""

    def with_context(self, context: SerializationContext) -> Self:
        run, call = "", ""
        if isinstance(context, WorkflowSerializationContext | ActivitySerializationContext):
            run = context.workflow_id or ""
            # A firing receives the values that were encrypted for its schedule.
            run = _FIRED_AT.sub("", run) if run.startswith("whorl/") else run
        # The workflow does not know what the server calls a local activity.
        if isinstance(context, ActivitySerializationContext) and not context.is_local:
            call = context.activity_id or ""
        bound = copy(self)
        bound._bound = f"{run}\0{call}".encode()
        return bound

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return [await self._encoded(payload) for payload in payloads]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return [await self._decoded(payload) for payload in payloads]

    async def _encoded(self, payload: Payload) -> Payload:
        if self._cipher is not None:
            nonce, text = secrets.token_bytes(_NONCE), payload.SerializeToString()
            data = nonce + self._cipher.encrypt(nonce, text, self._bound)
            payload = Payload(metadata={"encoding": _ENCRYPTED}, data=data)
        if self._place is None or len(payload.data) <= LARGE:
            return payload
        data = payload.SerializeToString()
        name = hashlib.sha256(data).hexdigest()
        await self._place.put(name, data)
        return Payload(metadata={"encoding": _ELSEWHERE}, data=name.encode())

    async def _decoded(self, payload: Payload) -> Payload:
        if payload.metadata.get("encoding") == _ELSEWHERE and self._place is not None:
            payload = Payload.FromString(await self._kept(self._place, payload.data))
        if self._cipher is None:
            return payload
        if payload.metadata.get("encoding") != _ENCRYPTED:
            raise _unreadable("it is not encrypted")
        nonce, text = payload.data[:_NONCE], payload.data[_NONCE:]
        try:
            return Payload.FromString(self._cipher.decrypt(nonce, text, self._bound))
        except InvalidTag:
            why = "it was encrypted with another key, or for another run or call"
            raise _unreadable(why) from None

    async def _kept(self, place: BlobStore, name: bytes) -> bytes:
        """Returns a stored value after checking that its name is its hash."""
        if not _NAME.fullmatch(name):
            raise _unreadable("its name is not a hash")
        data = await place.get(name.decode())
        if hashlib.sha256(data).hexdigest() != name.decode():
            raise _unreadable("it was changed where it is stored")
        return data


def bound_to(converter: DataConverter, namespace: str, run: str, call: str = "") -> DataConverter:
    """Returns the converter for the values of a run, or of one call of it."""
    if not call:
        return converter.with_context(WorkflowSerializationContext(namespace, run))
    context = ActivitySerializationContext(
        namespace=namespace,
        workflow_id=run,
        activity_id=call,
        workflow_type=None,
        activity_type=None,
        activity_task_queue=None,
        is_local=False,
    )
    return converter.with_context(context)


def converter(place: BlobStore | None = None, key: str = "") -> DataConverter:
    """Returns the converter that all clients and workers of a runtime use."""
    ours = dataclasses.replace(DataConverter.default, payload_converter_class=_Converter)
    if place is not None or key:
        ours = dataclasses.replace(ours, payload_codec=Codec(place, key))
    if key:
        encoded = DefaultFailureConverterWithEncodedAttributes
        ours = dataclasses.replace(ours, failure_converter_class=encoded)
    return ours


def _unreadable(why: str) -> StoreError:
    return StoreError(f"a value of a run cannot be read: {why}", code="R920", help=_ADVICE)


# The places of large values: a folder that all machines share, or an S3 bucket.

BUCKET = "s3://"
INSTALL = "install it with `pip install 'whorl[s3]'`"
# How long requests to a bucket that does not answer are retried before they fail.
PATIENCE_S = 30
_PROBE = "whorl-probe"


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that all machines share."""

    path: Path

    async def put(self, name: str, data: bytes) -> None:
        with _reported(str(self.path), "written"):
            await asyncio.to_thread(self._write, name, data)

    async def get(self, name: str) -> bytes:
        with _reported(str(self.path), "read"):
            return await asyncio.to_thread((self.path / name).read_bytes)

    def _write(self, name: str, data: bytes) -> None:
        if (self.path / name).exists():
            return
        self.path.mkdir(parents=True, exist_ok=True)
        unfinished = self.path / f"{name}.{secrets.token_hex(4)}"
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(self.path / name)


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket; the requests of its `store` succeed as a whole or fail."""

    where: str
    store: Any

    async def put(self, name: str, data: bytes) -> None:
        import obstore

        with _reported(self.where, "written"):
            await obstore.put_async(self.store, name, data)

    async def get(self, name: str) -> bytes:
        import obstore

        with _reported(self.where, "read"):
            found = await obstore.get_async(self.store, name)
            return bytes(await found.bytes_async())


# Values by name; a name is the hash of its value. Raises StoreError R920.
BlobStore: TypeAlias = Folder | Bucket


def place_of(settings: TemporalSettings) -> BlobStore | None:
    """Returns the place of large values, if any. Raises UsageError W920 without its package."""
    if not settings.values.startswith(BUCKET):
        return Folder(Path(settings.values)) if settings.values else None
    if find_spec("obstore") is None:
        words = f"the package obstore is not installed, and `values` is {settings.values!r}"
        raise UsageError(words, help=INSTALL, code="W920")
    from obstore.store import S3Store

    bucket, _, prefix = settings.values.removeprefix(BUCKET).partition("/")
    chosen = {
        "endpoint": settings.s3_endpoint,
        "region": settings.s3_region,
        "access_key_id": settings.s3_key.reveal() if settings.s3_key else "",
        "secret_access_key": settings.s3_secret.reveal() if settings.s3_secret else "",
    }
    # Other values come from the environment (AWS_...), or from the machine's role.
    given: dict[str, Any] = {name: text for name, text in chosen.items() if text}
    if settings.s3_endpoint.startswith("http://"):
        given["client_options"] = {"allow_http": True}
    patience: Any = {"max_retries": 5, "retry_timeout": timedelta(seconds=PATIENCE_S)}
    store = S3Store(bucket, prefix=prefix or None, retry_config=patience, **given)
    return Bucket(settings.values, store)


async def place_finding(place: BlobStore, where: str) -> tuple[bool, str]:
    """Checks whether a large value can be stored and read again."""
    try:
        await place.put(_PROBE, _PROBE.encode())
        await place.get(_PROBE)
    except StoreError as fault:
        return False, f"{fault}; {fault.help}"
    return True, f"{where} can be written and read"


@contextmanager
def _reported(where: str, what: str) -> Iterator[None]:
    """Turns faults of a place into errors with a code and the first line of the message."""
    try:
        yield
    except Exception as fault:
        lines = str(fault).splitlines() or [type(fault).__name__]
        words = f"a value of a run cannot be {what} at {where}: {lines[0]}"
        raise StoreError(words, code="R920", help=_ADVICE) from fault
